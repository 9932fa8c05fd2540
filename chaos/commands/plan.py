"""`plan`: the reference model's arithmetic, fed by what was measured last."""

from collections.abc import Iterator
from pathlib import Path

import click
from rich.table import Table

from chaos.commands.common import json_option, output, print_json, runs_option
from chaos.errors import UsageError
from results import plan as arithmetic
from results import plan_inputs
from results.plan import Input, Line, amount


@click.command()
@runs_option
@json_option
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An input; can be given again.")
@click.option("--defaults", is_flag=True, help="Take nothing from earlier runs.")
@click.option("--only", "names", multiple=True, metavar="LINE", help="This line of the plan.")
def plan(
    runs: Path, as_json: bool, settings: tuple[str, ...], defaults: bool, names: tuple[str, ...]
) -> None:
    """What to expect, and which knob to turn: every formula with its inputs and where they came from."""
    try:
        given = arithmetic.given(settings)
    except ValueError as error:
        raise UsageError(str(error)) from None
    lines = arithmetic.plan({} if defaults else plan_inputs.measured(runs), given)
    chosen = list(_chosen(lines, names))
    if as_json:
        print_json(chosen)
        return
    output().print(_results(chosen))
    output().print(_sources(chosen))


def _chosen(lines: list[Line], names: tuple[str, ...]) -> Iterator[Line]:
    known = [line.name for line in lines]
    for name in names:
        if name not in known:
            raise UsageError(f"no line '{name}' in the plan (known: {', '.join(known)})")
    yield from (line for line in lines if not names or line.name in names)


def _results(lines: list[Line]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("line", no_wrap=True)
    table.add_column("what")
    table.add_column("result", justify="right", no_wrap=True)
    table.add_column("formula", style="dim")
    for line in lines:
        table.add_row(line.name, line.what, amount(line.value, line.unit), line.formula)
    return table


def _sources(lines: list[Line]) -> Table:
    inputs: dict[str, Input] = {each.name: each for line in lines for each in line.inputs}
    table = Table(box=None, pad_edge=False, padding=(1, 2, 0, 0), title_justify="left")
    table.padding = (0, 2, 0, 0)
    table.title = "\nInputs (change one with --set name=value)"
    table.title_style = "bold"
    table.add_column("input", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("where it came from")
    table.add_column("what", style="dim")
    for each in inputs.values():
        table.add_row(each.name, amount(each.value, each.unit), each.source, each.what)
    return table
