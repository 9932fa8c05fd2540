"""`claims`: the reference model's claims, put to the test on the running stack."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
from rich.text import Text

from chaos import records
from chaos.claims import catalogue
from chaos.claims.evidence import Claim, Opinion
from chaos.claims.record import Trial, table
from chaos.claims.trial import put_to_the_test
from chaos.commands.common import (
    home_option,
    json_option,
    output,
    print_json,
    run_until_stopped,
    runs_option,
    stack_option,
)
from chaos.live import View
from chaos.session import only_one
from chaos.stacks import attach, create
from chaos.stop import Stop
from compose.stack import Stack, StackOptions
from results.history import write_atomically
from results.report.write import HTML

NOTHING_WAS_SHOWN = 3


@click.command()
@stack_option
@home_option
@runs_option
@json_option
@click.option("--only", "names", multiple=True, metavar="CLAIM", help="This claim; can be given again.")
@click.option("--list", "listing", is_flag=True, help="List the claims; measure nothing.")
@click.option("--seed", type=int, default=1, show_default=True)
def claims(
    stack: str, home: Path, runs: Path, as_json: bool, names: tuple[str, ...], listing: bool, seed: int
) -> None:
    """Measure every claim of the reference model on the stack (the one that is up, or one of its own).

    Each is a small experiment on names of its own; nothing of it is left behind. Exit status: 0, or 3
    if not one claim could be shown either way.
    """
    chosen = catalogue.find(names)
    if listing:
        _list(chosen, as_json=as_json)
        return

    async def work(view: View, stop: Stop) -> tuple[Trial, Path]:
        with only_one(home):
            async with _services(stack, home, view, stop) as there:
                return await _try_all(chosen, there, runs, seed, view, stop)

    trial, report = run_until_stopped(work)
    if as_json:
        print_json(trial)
    else:
        output().print(table(trial.findings))
        output().print(Text(f"Report: {report}"), soft_wrap=True)
    if all(finding.opinion is Opinion.CANNOT_BE_SHOWN for finding in trial.findings):
        sys.exit(NOTHING_WAS_SHOWN)


async def _try_all(
    chosen: list[Claim], stack: Stack, runs: Path, seed: int, view: View, stop: Stop
) -> tuple[Trial, Path]:
    from chaos.claims.page import page  # the charting library is slow to load

    directory = records.create(runs, "claims")
    trial = Trial.begin(directory, stack, seed)
    try:
        for claim in chosen:
            with view.step(claim.name):
                finding = await stop.guard(put_to_the_test(claim, stack.endpoints, seed))
            trial.findings.append(finding)
    finally:
        trial.write(directory)
        write_atomically(directory / HTML, page(trial))
    return trial, directory / HTML


@asynccontextmanager
async def _services(kind: str, home: Path, view: View, stop: Stop) -> AsyncIterator[Stack]:
    """The stack that is up, or the stores alone, brought up for the time of the context."""
    there = attach(home)
    if there is not None:
        view.say(f"using the {there.kind} stack that is up in {home}, and leaving it up")
        yield there
        return
    stack = create(kind, home, StackOptions(services_only=True))
    try:
        with view.step(f"starting the stores of the {stack.kind} stack"):
            await stop.guard(stack.up())
        yield stack
    finally:
        with view.step(f"stopping the {stack.kind} stack"):
            await stack.down()


def _list(chosen: list[Claim], *, as_json: bool) -> None:
    if as_json:
        print_json([{"claim": claim.name, "says": claim.says} for claim in chosen])
        return
    for claim in chosen:
        click.echo(f"{claim.name:<22} {claim.says}")
