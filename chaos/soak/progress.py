"""How far a soak has come: the live picture with a progress bar beneath it, or a line a minute."""

import time

from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from chaos.live import PlainView, TerminalView, View, draw, one_line
from chaos.scene import Scene

_PLAIN_EVERY_S = 60.0


class SoakTerminalView(TerminalView):
    def show(self, scene: Scene) -> None:
        if self._live is not None:
            self._live.update(Group(draw(scene, self._title), bar(scene)), refresh=True)


class SoakPlainView(PlainView):
    def show(self, scene: Scene) -> None:
        if time.monotonic() - self._last_shown >= _PLAIN_EVERY_S:
            self._last_shown = time.monotonic()
            self.say(f"{share(scene):3.0f} %  {one_line(scene)}")


def view_for(console: Console) -> View:
    return SoakTerminalView(console) if console.is_terminal else SoakPlainView(console)


def share(scene: Scene) -> float:
    """How much is done, in percent."""
    return min(100.0, max(0.0, 100 * scene.elapsed_s / scene.total_s)) if scene.total_s else 0.0


def bar(scene: Scene) -> Table:
    """`━━━━━━━━━━╸━━━━━━  42 %  1:09:32 left`"""
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(ratio=1)
    row.add_column(justify="right")
    row.add_column(justify="right")
    left = max(0, round(scene.total_s - scene.elapsed_s))
    clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
    row.add_row(ProgressBar(total=100, completed=share(scene)), f"{share(scene):.0f} %", Text(clock, "dim"))
    return row
