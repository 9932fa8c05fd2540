"""`claims`: the reference model's claims, put to the test on the running stack.

The experiments and the charts load several client libraries, so they are imported when they are needed.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from chaos.commands.common import (
    DurationType,
    home_option,
    json_option,
    output,
    print_json,
    run_until_stopped,
    runs_option,
    stack_option,
)
from chaos.live import View
from chaos.stop import Stop
from chaos.units import Seconds

if TYPE_CHECKING:
    from chaos.claims.evidence import Claim
    from chaos.claims.record import Trial

NOTHING_WAS_SHOWN = 3


@click.command()
@stack_option
@home_option
@runs_option
@json_option
@click.option("--only", "names", multiple=True, metavar="CLAIM", help="This claim; can be given again.")
@click.option("--list", "listing", is_flag=True, help="List the claims; measure nothing.")
@click.option("--within", type=DurationType(), default="165s", show_default=True, help="For all of them.")
@click.option("--seed", type=int, default=1, show_default=True)
def claims(
    stack: str,
    home: Path,
    runs: Path,
    as_json: bool,
    names: tuple[str, ...],
    listing: bool,
    within: Seconds,
    seed: int,
) -> None:
    """Measure every claim of the reference model on the stack (the one that is up, or one of its own).

    Each is a small experiment on names of its own; nothing of it is left behind. Exit status: 0, or 3
    if not one claim could be shown either way.
    """
    from chaos.claims import catalogue
    from chaos.claims.evidence import Opinion
    from chaos.claims.record import table
    from chaos.claims.session import try_claims

    chosen = catalogue.find(names)
    if listing:
        _list(chosen, as_json=as_json)
        return

    async def work(view: View, stop: Stop) -> "tuple[Trial, Path]":
        return await try_claims(chosen, stack, home, runs, view, stop, seed=seed, within_s=float(within))

    trial, report = run_until_stopped(work)
    if as_json:
        print_json(trial)
    else:
        output().print(table(trial.findings))
        output().print(Text(f"Report: {report}"), soft_wrap=True)
    if all(finding.opinion is Opinion.CANNOT_BE_SHOWN for finding in trial.findings):
        sys.exit(NOTHING_WAS_SHOWN)


def _list(chosen: "list[Claim]", *, as_json: bool) -> None:
    if as_json:
        print_json([{"claim": claim.name, "says": claim.says} for claim in chosen])
        return
    for claim in chosen:
        click.echo(f"{claim.name:<22} {claim.says}")
