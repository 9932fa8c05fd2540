"""`gameday`: a room, a plan of drills on one living stack, one report of the day."""

import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console

from chaos import rundir
from chaos.commands.common import (
    home_option,
    json_option,
    output,
    print_json,
    run_until_stopped,
    runs_option,
    stack_option,
)
from chaos.drill import Drill
from chaos.errors import UsageError
from chaos.gameday import plan as plans
from chaos.gameday.day import Day
from chaos.gameday.host import Host, Room
from chaos.gameday.plan import Plan
from chaos.gameday.talk import talk_for
from chaos.gameday.view import view_for
from chaos.live import View
from chaos.session import Request, a_stack, populate
from chaos.stacks import attach
from chaos.stop import Stop
from chaos.units import encode
from results.report.write import HTML

_READY_WITHIN_S = 60.0


@click.command()
@click.argument("plan", metavar="PLAN", required=False)
@stack_option
@home_option
@runs_option
@json_option
@click.option("--auto", is_flag=True, help="A rehearsal: ask nothing, go through all of it.")
@click.option("--dry-run", is_flag=True, help="Print the plan; touch nothing.")
def gameday(
    plan: str | None, stack: str, home: Path, runs: Path, as_json: bool, auto: bool, dry_run: bool
) -> None:
    """Lead a room through PLAN (a shipped plan by name, or a plan.yaml); without PLAN, list the plans.

    While a drill runs, `a` aborts it (everything is healed at once) and `n` takes a note. Exit status:
    1 if a drill failed, 3 if one proved nothing, else 0.
    """
    if plan is None:
        _list(as_json=as_json)
        return
    found, drills = plans.find(plan)
    there = attach(home)
    kind = there.kind if there is not None else stack
    for drill in drills:
        if kind in drill.not_on:
            raise UsageError(f"{drill.drill} cannot be run on the {kind} stack: {drill.not_on[kind]}")
    day_drill = Drill(
        drill=found.gameday, question=found.title, stack=plans.wishes_of(drills),
        population=drills[0].population,
    )  # fmt: skip
    if dry_run:
        _print_plan(found, drills, as_json=as_json)
        return
    request = Request(
        drill=day_drill, seed=1, home=home, runs=runs, stack=stack, command=f"feedstorm gameday {plan}"
    )

    async def work(view: View, stop: Stop) -> tuple[Day, Path]:
        return await _hold(found, drills, request, stop, auto=auto)

    day, directory = run_until_stopped(work)
    if as_json:
        print_json(day)
    else:
        click.echo(f"The day: {day.ending}. Report: {directory / HTML}")
    sys.exit(day.exit_code)


async def _hold(
    plan: Plan, drills: list[Drill], request: Request, stop: Stop, *, auto: bool
) -> tuple[Day, Path]:
    console = Console(file=sys.stderr, highlight=False)
    view = view_for(console)
    talk = talk_for(console, auto=auto)
    async with a_stack(request, view, stop) as stack:
        await populate(request.home, stack, request.drill.population, request.seed, view, stop)
        directory = rundir.create_beside(request.runs, f"gameday_{plan.gameday}")
        day = Day.begin(plan, stack.kind)
        day.versions, day.stack_limits = stack.versions(), list(stack.limits)
        room = Room(talk, view, console, stop, ready=lambda: stack.wait_ready(within_s=_READY_WITHIN_S))
        await Host(plan, drills, request, room, day, directory).lead()
        return day, directory


def _list(*, as_json: bool) -> None:
    found = [plans.find(name)[0] for name in plans.names()]
    if as_json:
        print_json([{"gameday": each.gameday, "title": each.title} for each in found])
        return
    for each in found:
        output().print(f"{each.gameday:<16} {each.title}", markup=False)


def _print_plan(plan: Plan, drills: list[Drill], *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(plan, enc_hook=encode))
        return
    click.echo(f"{plan.title}\n\n{plan.briefing.strip()}\n")
    for number, (station, drill) in enumerate(zip(plan.stations, drills, strict=True), 1):
        click.echo(f"{number}. {drill.drill}: {drill.question}")
        for expectation in station.expect:
            click.echo(f"   expected: {expectation}")
    minutes = sum(station.talk for station in plan.stations) / 60
    click.echo(f"\nabout {minutes:.0f} minutes of talk, and the drills; nothing is touched")
