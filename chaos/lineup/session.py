"""Runs one drill several times in turn, and puts the runs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from chaos import rundir
from chaos.drill import Drill
from chaos.errors import CouldNotRunError, UsageError
from chaos.lineup import costs
from chaos.lineup.row import LineUp, markdown, row_of
from chaos.live import View
from chaos.session import Request, run_drill
from chaos.stacks import attach
from chaos.stop import Stop
from chaos.units import suggest
from compose.stack import Stack
from results.history import write_atomically
from results.report.write import MARKDOWN

LINEUP: Final = "lineup.json"
STRATEGIES: Final = ("pull", "push", "hybrid")
STRATEGY: Final = "FEED_STRATEGY"


@dataclass(frozen=True)
class Variant:
    """A name, and the app's settings that make it."""

    name: str
    env: dict[str, str]

    def of(self, drill: Drill) -> Drill:
        wishes = msgspec.structs.replace(drill.stack, env={**drill.stack.env, **self.env})
        return msgspec.structs.replace(drill, stack=wishes)


def strategies(text: str) -> list[Variant]:
    """`pull,push,hybrid` as variants. Raises UsageError."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in STRATEGIES:
            raise UsageError(f"no feed strategy '{name}'{suggest(name, STRATEGIES)}")
    return [Variant(name, {STRATEGY: name}) for name in names]


def as_it_is(drill: Drill) -> list[Variant]:
    return [Variant(drill.drill, {})]


async def run_lineup(
    request: Request, variants: Sequence[Variant], repeat: int, view: View, stop: Stop
) -> tuple[LineUp, Path]:
    """Every variant `repeat` times, in turn, so that a bad hour hits all of them alike.

    Raises:
        UsageError: a stack is up that could not be made anew for each variant.
        InterruptedRunError: a signal came; the runs until then are written.
    """
    if any(variant.env for variant in variants) and attach(request.home) is not None:
        raise UsageError(
            f"each strategy needs a stack of its own, and one is up in {request.home}: `feedstorm down` first"
        )
    directory = rundir.create_beside(request.runs, f"lineup_{request.drill.drill}")
    lineup = LineUp(request.drill.drill, request.seed, request.stack)
    for number in range(repeat):
        for variant in variants:
            stop.check()
            view.say(f"{variant.name}, run {number + 1} of {repeat}", style="bold")
            await _run_one(request, variant, lineup, view, stop)
            _write(lineup, directory)
    return lineup, directory / MARKDOWN


async def _run_one(request: Request, variant: Variant, lineup: LineUp, view: View, stop: Stop) -> None:
    def count(stack: Stack, run: Path) -> None:
        try:
            costs.measure_into(stack, run, request.seed)
        except Exception as error:  # a table with a hole is better than no table
            view.say(f"store operations could not be counted: {error}")

    mine = replace(request, drill=variant.of(request.drill), after_audit=count)
    finished = await run_drill(mine, view, stop)
    lineup.rows.append(row_of(variant.name, finished.directory))
    if finished.ending == "interrupted" and not stop.asked.is_set():
        raise CouldNotRunError(f"{variant.name} was interrupted; see {finished.directory}")


def _write(lineup: LineUp, directory: Path) -> None:
    write_atomically(directory / LINEUP, msgspec.json.format(msgspec.json.encode(lineup)))
    write_atomically(directory / MARKDOWN, markdown(lineup))
