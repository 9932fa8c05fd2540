"""`seed` and `swarm`: people and load by hand, on the stack that is up."""

import asyncio
import shlex
import sys
from pathlib import Path

import click

from chaos import rundir
from chaos.commands.common import (
    DurationType,
    RateType,
    finish,
    home_option,
    json_option,
    run_until_stopped,
    runs_option,
    stack_that_is_up,
)
from chaos.drill import Drill, Load, Phases, Population
from chaos.errors import UsageError
from chaos.live import View
from chaos.runner import Run, Runner
from chaos.seeding import seed_stack, seeded_population
from chaos.session import Finished
from chaos.stacks import arm
from chaos.stop import Stop
from chaos.swarm import forked
from chaos.units import PerSecond, Seconds, suggest
from results import report, verdict
from results.history import History

TARGETS = ("all.error_rate < 5% in baseline", "feed.staleness.p99 < 5s in baseline")
_WARM_UP_S = 5.0


@click.command()
@home_option
@click.option("--users", type=click.IntRange(min=2), default=2000, show_default=True)
@click.option("--celebrities", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--celebrity-followers", type=click.IntRange(min=0), default=1200, show_default=True)
@click.option(
    "--follows-mean",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many normal users a user follows on average.",
)
@click.option("--seed", "number", type=int, default=1, show_default=True, help="Who they are.")
def seed(
    home: Path, users: int, celebrities: int, celebrity_followers: int, follows_mean: int, number: int
) -> None:
    """Fill the stack that is up with people who follow each other."""
    population = Population(users, celebrities, celebrity_followers, follows_mean, number)
    if celebrity_followers >= users:
        raise UsageError(
            f"{users} users cannot be {celebrity_followers} followers of one of them: "
            f"--celebrity-followers must be below --users"
        )
    stack = stack_that_is_up(home)

    async def work(view: View, stop: Stop) -> None:
        with view.step(f"seeding {users} users"):
            await stop.guard(seed_stack(home, stack, population, progress=True))

    run_until_stopped(work)
    host = ",".join(stack.endpoints.api)
    click.echo("Load on them: `feedstorm swarm`, or plain Locust with its web page:")
    click.echo(f"  locust -f loadtests/locustfile.py --host {host} --population {population}")


@click.command()
@home_option
@runs_option
@json_option
@click.option("--arrivals", type=RateType(), default="60/s", show_default=True)
@click.option("--processes", type=click.IntRange(min=1), default=1, show_default=True, help="For high rates.")
@click.option("--mix", default="", help="User classes by weight: feed_reader:80,viral_liker:10,...")
@click.option("--shape", default="steady", show_default=True)
@click.option("--for", "length", type=DurationType(), default="60s", show_default=True)
@click.option("--seed", "number", type=int, default=1, show_default=True, help="Drives arrivals and choices.")
@click.argument("locust_options", nargs=-1, type=click.UNPROCESSED)
def swarm(
    home: Path,
    runs: Path,
    arrivals: PerSecond,
    processes: int,
    mix: str,
    shape: str,
    length: Seconds,
    number: int,
    as_json: bool,
    locust_options: tuple[str, ...],
) -> None:
    """Put load on the stack that is up, on the people that were seeded, without any fault of its own.

    Judged are errors (< 5 %) and feed staleness (< 5 s); exit status as for `drill`.

    What follows `--` goes to Locust: `feedstorm swarm -- --csv numbers --read-timeout 2`.
    """
    stack = stack_that_is_up(home)
    people = seeded_population(home, stack)
    if people is None:
        raise UsageError("nobody is on this stack to put load on: run `feedstorm seed` first")
    load = Load(arrivals=arrivals, mix=_mix(mix) if mix else Load().mix, shape=shape)
    warm_up = Seconds(min(_WARM_UP_S, length / 4))
    drill = Drill(
        drill="swarm",
        question="What does the stack do under this load?",
        load=load,
        population=people,
        phases=Phases(warm_up, baseline=Seconds(length - warm_up), recovery=Seconds(0)),
        targets=list(TARGETS),
    )

    async def work(view: View, stop: Stop) -> Finished:
        directory = rundir.create(runs, drill.drill)
        rundir.describe(directory, drill, stack, seed=number, command="feedstorm " + shlex.join(sys.argv[1:]))
        run = Run(drill, number, directory, home, (*forked(processes), *locust_options))
        ending = await Runner(run, arm(stack, home), view, stop).run()
        judged = await asyncio.to_thread(verdict.judge, History.load(directory), None)
        return Finished(judged, ending, directory, report.write(directory).html)

    finish(run_until_stopped(work), as_json=as_json)


def _mix(text: str) -> dict[str, int]:
    known = Load().mix
    mix = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition(":")
        if name not in known or not weight.isdigit():
            raise UsageError(f"'{part}' is not a part of a mix like feed_reader:80{suggest(name, known)}")
        mix[name] = int(weight)
    return mix
