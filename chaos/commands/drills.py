"""`drills` and `drill`: the catalogue, and running one of it."""

import random
import shlex
import sys
from pathlib import Path

import click
from rich.table import Table

from chaos import catalogue, roles
from chaos.commands.common import (
    DurationType,
    finish,
    home_option,
    json_option,
    output,
    print_json,
    run_until_stopped,
    runs_option,
    stack_option,
)
from chaos.drill import Drill
from chaos.errors import CannotInjectError, UsageError
from chaos.live import View
from chaos.session import Finished, Request, run_drill
from chaos.stacks import arm, attach
from chaos.stop import Stop
from chaos.timeline import Act, acts_of, lasting, length_of
from chaos.units import Seconds
from compose.stack import Stack


@click.command()
@json_option
def drills(as_json: bool) -> None:
    """List the drills and the question that each of them answers."""
    found = [catalogue.find(name) for name in catalogue.names()]
    if as_json:
        print_json(
            [{"drill": each.drill, "question": each.question, "not_on": each.not_on} for each in found]
        )
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("drill", no_wrap=True)
    table.add_column("question")
    for each in found:
        not_on = "".join(f" (not on {kind}: {why})" for kind, why in each.not_on.items())
        table.add_row(each.drill, each.question + not_on)
    output().print(table)


@click.command()
@click.argument("name")
@stack_option
@home_option
@runs_option
@json_option
@click.option("--seed", type=int, default=1, show_default=True, help="Repeats population, load and choices.")
@click.option("--for", "length", type=DurationType(), help="How long repeated faults go on (random-walk).")
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="Run it so often, with the same seed.")
@click.option("--strategies", default="", help="Run it on each feed strategy, like pull,push,hybrid.")
@click.option("--dry-run", is_flag=True, help="Print what would be done; touch nothing.")
@click.option("--allow-host", multiple=True, help="A host other than this machine that may be broken.")
@click.option("--app-module", default="reference_app", show_default=True, help="The app that is run.")
def drill(
    name: str,
    stack: str,
    home: Path,
    runs: Path,
    as_json: bool,
    seed: int,
    length: Seconds | None,
    repeat: int,
    strategies: str,
    dry_run: bool,
    allow_host: tuple[str, ...],
    app_module: str,
) -> None:
    """Run the drill NAME (or a drill file) and give a verdict.

    With --repeat or --strategies the runs are put side by side in one table. Exit status: 0 pass, 1 fail,
    2 usage, 3 invalid, 4 could not run, 130 interrupted.
    """
    found = catalogue.find(name) if length is None else _lasting(catalogue.find(name), length)
    there = attach(home)
    kind = there.kind if there is not None else stack
    if kind in found.not_on:
        raise UsageError(f"{found.drill} cannot be run on the {kind} stack: {found.not_on[kind]}")
    if dry_run:
        _print_plan(found, there, home, kind, seed, as_json=as_json)
        return
    request = Request(
        drill=found,
        seed=seed,
        home=home,
        runs=runs,
        stack=stack,
        command="feedstorm " + shlex.join(sys.argv[1:]),
        app_module=app_module,
        allowed_hosts=allow_host,
    )

    if strategies or repeat > 1:
        from chaos.commands.lineup import side_by_side  # brings the clients of the stores with it

        sys.exit(side_by_side(request, strategies, repeat, as_json=as_json))

    async def work(view: View, stop: Stop) -> Finished:
        return await run_drill(request, view, stop)

    finish(run_until_stopped(work), as_json=as_json)


def _lasting(found: Drill, length: Seconds) -> Drill:
    try:
        return lasting(found, length)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _who(there: Stack | None, home: Path, act: Act, seed: int) -> str:
    """Who plays the act's role at this moment, where a stack is up; looks and changes nothing."""
    if there is None:
        return ""
    try:
        targets = roles.resolve(roles.parse(act.on), arm(there, home), random.Random(seed))
    except CannotInjectError as error:
        return f" (now: {error})"
    return f" (now: {', '.join(target.name for target in targets)})"


def _print_plan(
    found: Drill, there: Stack | None, home: Path, kind: str, seed: int, *, as_json: bool
) -> None:
    acts = acts_of(found, seed)
    if as_json:
        plan = [
            {"at_s": act.at_s, "for_s": act.for_s, "inject": act.fault, "on": act.on, "with": act.options}
            for act in acts
        ]
        print_json({"drill": found.to_dict(), "stack": kind, "seed": seed, "acts": plan})
        return
    phases, length = found.phases, length_of(found, acts)
    click.echo(f"{found.drill}: {found.question}")
    click.echo(
        f"on the {kind} stack, {found.load.arrivals} for {length:g} s, seed {seed}; nothing is touched"
    )
    click.echo(
        f"     0.0 s  warmup\n  {phases.warmup:6.1f} s  baseline\n  {phases.fault_begins:6.1f} s  fault"
    )
    for act in acts:
        options = "".join(f" {name}={value}" for name, value in act.options.items())
        who = _who(there, home, act, seed)
        click.echo(f"  {act.at_s:6.1f} s    {act.fault} on {act.on}{options}, for {act.for_s:g} s{who}")
    click.echo(f"  {length - phases.recovery:6.1f} s  recovery\n  {length:6.1f} s  end")
    for title, lines in (
        ("targets", found.targets), ("invariants", found.invariants),
        ("proof", found.proof), ("abort if", found.abort_if),
    ):  # fmt: skip
        for line in lines:
            click.echo(f"  {title}: {line}")
