"""What people see while a run goes on: steps with their times, event lines, and a live picture.

On a terminal the picture is drawn by Rich beneath the lines; elsewhere a plain line comes every few
seconds. Whatever happens, the terminal is left as it was found.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from chaos.scene import Scene
from results.history import PHASES
from results.urls import shown

_BARS = " ▁▂▃▄▅▆▇█"
_PLAIN_EVERY_S = 5.0


class View(Protocol):
    """Everything that a run shows goes through these four."""

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Around something that takes a while: `starting the embedded stack ... 8.2 s`."""
        yield

    @contextmanager
    def picture(self, title: str) -> Iterator[None]:
        """Around the time in which `show` is called."""
        yield

    def say(self, text: str, *, style: str = "") -> None:
        """One event line."""

    def show(self, scene: Scene) -> None:
        """The present moment."""


def view_for(console: Console) -> View:
    return TerminalView(console) if console.is_terminal else PlainView(console)


class PlainView:
    """Lines, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console, self._last_shown = console, 0.0

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.say(f"{what} ... {time.monotonic() - began:.1f} s")

    @contextmanager
    def picture(self, title: str) -> Iterator[None]:
        self.say(title)
        yield

    def say(self, text: str, *, style: str = "") -> None:
        self._console.print(Text(shown(text), style=style), soft_wrap=True)

    def show(self, scene: Scene) -> None:
        if time.monotonic() - self._last_shown >= _PLAIN_EVERY_S:
            self._last_shown = time.monotonic()
            self.say(one_line(scene))


class TerminalView(PlainView):
    """A picture that is redrawn in place, beneath lines that stay."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live: Live | None = None
        self._title = ""

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        with self._console.status(f"{what} ..."):
            yield
        self.say(f"{what} ... {time.monotonic() - began:.1f} s")

    @contextmanager
    def picture(self, title: str) -> Iterator[None]:
        self._title = title
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            try:
                yield
            finally:
                self._live = None

    def show(self, scene: Scene) -> None:
        if self._live is not None:
            self._live.update(draw(scene, self._title), refresh=True)


def one_line(scene: Scene) -> str:
    """`  21 s  fault     60 ops/s  errors 3.1 %  p95 41 ms  staleness 0.3 s  primary mongo2`"""
    words = [f"{scene.elapsed_s:4.0f} s  {scene.phase:<9} {scene.ops_per_s:4.0f} ops/s"]
    words += [f"errors {_share(scene.error_share)}", f"p95 {_time(scene.p95_s)}"]
    words.append(f"staleness {_time(scene.staleness_s)}")
    if scene.primary != "":
        words.append(f"primary {scene.primary or 'none'}")
    if scene.faults:
        words.append("in force: " + ", ".join(scene.faults))
    return "  ".join(words)


def draw(scene: Scene, title: str) -> RenderableType:
    numbers = Table.grid(padding=(0, 3))
    for _ in range(5):
        numbers.add_column(justify="right")
    numbers.add_row(
        *(Text(head, style="dim") for head in ("ops/s", "errors", "p95", "staleness p95", "primary"))
    )
    bad = (scene.error_share or 0) >= 0.05
    numbers.add_row(
        Text(f"{scene.ops_per_s:.0f}", style="bold"),
        Text(_share(scene.error_share), style="bold red" if bad else "bold"),
        Text(_time(scene.p95_s), style="bold"),
        Text(_time(scene.staleness_s), style="bold"),
        Text("none", style="bold red") if scene.primary is None else Text(scene.primary or "-", style="bold"),
    )
    lines: list[RenderableType] = [_phases(scene), Text(), numbers, Text()]
    lines.append(Text.assemble(("ops     ", "dim"), (sparkline(scene.rates), "cyan")))
    lines.append(
        Text.assemble(
            ("errors  ", "dim"), (sparkline(scene.error_rates, top=max(scene.rates, default=0)), "red")
        )
    )
    for name in scene.faults:
        lines.append(Text(f"in force: {name}", style="bold red"))
    if scene.not_running:
        lines.append(Text("not running: " + ", ".join(scene.not_running), style="yellow"))
    if scene.errors:
        lines.append(
            Text("errors: " + ", ".join(f"{count}x {why}" for why, count in scene.errors), style="dim")
        )
    return Panel(
        Group(*lines), title=title, title_align="left", border_style="red" if scene.faults else "blue"
    )


def _phases(scene: Scene) -> Text:
    line = Text()
    for phase in PHASES:
        style = ("reverse red" if phase == "fault" else "reverse blue") if phase == scene.phase else "dim"
        line.append(f" {phase} ", style=style)
        line.append(" ")
    return line.append(f" {scene.elapsed_s:.0f} of {scene.total_s:.0f} s", style="dim")


def sparkline(values: Sequence[int], *, top: int | None = None, width: int = 60) -> str:
    """A character for each of the last `width` values, as high as it is near `top` (or the greatest)."""
    shown = list(values)[-width:]
    highest = max([top or 0, *shown, 1])
    return "".join(_BARS[min(8, -(-value * 8 // highest))] for value in shown)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f} %"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
