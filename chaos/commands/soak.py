"""`soak`: steady load for hours, a fault now and then, and an eye on what creeps."""

import asyncio
import shlex
import sys
from pathlib import Path

import click
from rich.console import Console

from chaos.commands.common import (
    DurationType,
    RateType,
    finish,
    home_option,
    json_option,
    runs_option,
    stack_option,
)
from chaos.drill import Load, Population
from chaos.seeding import seeded_population
from chaos.session import Finished, Request
from chaos.soak import progress
from chaos.soak.session import run_soak
from chaos.soak.soak_drill import Now, drill_of
from chaos.stacks import attach
from chaos.stop import stop_on_signals
from chaos.timeline import acts_of, length_of
from chaos.units import PerSecond, Seconds

_MOST_CHECKPOINTS = 20
_LEAST_BETWEEN_S = 60.0


@click.command()
@stack_option
@home_option
@runs_option
@json_option
@click.option("--for", "length", type=DurationType(), required=True, help="How long, like 2h or 30m.")
@click.option(
    "--every", "faults", type=(DurationType(), str, str), multiple=True, metavar="TIME FAULT ROLE",
    help="A fault that comes back, like: --every 10m kill redis. Can be given again.",
)  # fmt: skip
@click.option("--hold", type=DurationType(), default="15s", show_default=True, help="How long it is held.")
@click.option("--arrivals", type=RateType(), default="60/s", show_default=True)
@click.option("--sample-every", type=DurationType(), default="5s", show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--dry-run", is_flag=True, help="Print what would be done; touch nothing.")
def soak(
    stack: str,
    home: Path,
    runs: Path,
    as_json: bool,
    length: Seconds,
    faults: tuple[tuple[Seconds, str, str], ...],
    hold: Seconds,
    arrivals: PerSecond,
    sample_every: Seconds,
    seed: int,
    dry_run: bool,
) -> None:
    """Keep steady load up and look for drift: memory, open files, latency, lag, feed sizes.

    A stop at any time (Ctrl-C too) leaves a full report. Exit status as for `drill`.
    """
    up = attach(home)
    population = (up and seeded_population(home, up)) or Population()
    drill = drill_of(length, [Now(*each) for each in faults], hold, Load(arrivals=arrivals), population)
    if dry_run:
        acts = acts_of(drill, seed)
        click.echo(f"{drill.load.arrivals} for {length_of(drill, acts):g} s; nothing is touched")
        for act in acts:
            click.echo(f"  {act.at_s:8.1f} s  {act.fault} on {act.on}, for {act.for_s:g} s")
        return
    request = Request(
        drill=drill, seed=seed, home=home, runs=runs, stack=stack,
        command="feedstorm " + shlex.join(sys.argv[1:]),
    )  # fmt: skip
    finish(asyncio.run(_run(request, float(sample_every), float(length))), as_json=as_json)


async def _run(request: Request, sample_every_s: float, length_s: float) -> Finished:
    view = progress.view_for(Console(file=sys.stderr, highlight=False))
    checkpoint_s = max(_LEAST_BETWEEN_S, length_s / _MOST_CHECKPOINTS)
    with stop_on_signals(view.say) as stop:
        return await run_soak(
            request, view, stop, sample_every_s=sample_every_s, checkpoint_every_s=checkpoint_s
        )
