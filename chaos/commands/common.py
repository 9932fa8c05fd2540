"""Options and helpers that several commands share."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import msgspec
from rich.console import Console

from chaos.errors import CouldNotRunError, InterruptedRunError
from chaos.live import View, view_for
from chaos.session import Finished
from chaos.stacks import KINDS, attach, default_home
from chaos.stop import Stop, stop_on_signals
from chaos.units import PerSecond, Seconds
from compose.stack import Stack
from results import summary

Result = TypeVar("Result")
Command = Callable[..., Any]

_PLAIN_WIDTH = 120  # of what is piped or logged, where nobody says how wide it may be
DEFAULT_RUNS = Path("results") / "runs"


class DurationType(click.ParamType[Seconds]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Seconds:
        try:
            return value if isinstance(value, Seconds) else Seconds.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class RateType(click.ParamType[PerSecond]):
    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PerSecond:
        try:
            return value if isinstance(value, PerSecond) else PerSecond.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def home_option(command: Command) -> Command:
    return click.option(
        "--home",
        type=click.Path(path_type=Path, file_okay=False),
        help="Where the stack's state is  [default: $FEEDSTORM_HOME, or .feedstorm here]",
        callback=lambda _ctx, _param, value: (value or default_home()).resolve(),
    )(command)


def stack_option(command: Command) -> Command:
    return click.option(
        "--stack", type=click.Choice(KINDS), default="embedded", show_default=True, help="What to run on."
    )(command)


def runs_option(command: Command) -> Command:
    return click.option(
        "--runs",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_RUNS,
        show_default=True,
        help="Where runs are written.",
    )(command)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def output() -> Console:
    """Results go to standard output ..."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)


def progress() -> View:
    """... and what happens meanwhile to standard error."""
    return view_for(Console(file=sys.stderr, highlight=False))


def run_until_stopped(work: Callable[[View, Stop], Coroutine[Any, Any, Result]]) -> Result:
    """Run `work` in an event loop in which signals set its `Stop`."""
    view = progress()

    async def main() -> Result:
        with stop_on_signals(view.say) as stop:
            return await work(view, stop)

    return asyncio.run(main())


def finish(finished: Finished, *, as_json: bool) -> NoReturn:
    """Print the verdict and leave with its exit status. Raises InterruptedRunError after a signal."""
    if as_json:
        print_json(finished.verdict)
    else:
        output().print(summary.render(finished.verdict, finished.report))
    if finished.ending == "interrupted":
        raise InterruptedRunError(f"interrupted; what was recorded is in {finished.directory}")
    sys.exit(finished.verdict.exit_code)


def stack_that_is_up(home: Path) -> Stack:
    """Raises CouldNotRunError if there is none."""
    stack = attach(home)
    if stack is None:
        raise CouldNotRunError(f"no stack is up in {home}; start one with `feedstorm up`")
    return stack
