"""The live picture of a drill, with what the keys do beneath it."""

from rich.console import Console, Group
from rich.text import Text

from chaos.gameday.talk import Typing
from chaos.live import PlainView, TerminalView, View, draw
from chaos.scene import Scene


class GamedayView(TerminalView):
    """Shows the scene again at once when a key was pressed, so that typing feels like typing."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.typing: Typing | None = None
        self._scene: Scene | None = None

    def show(self, scene: Scene) -> None:
        self._scene = scene
        self.refresh()

    def refresh(self) -> None:
        if self._live is None or self._scene is None:
            return
        hint = self.typing.hint if self.typing is not None else ""
        picture = Group(draw(self._scene, self._title), Text(hint, style="bold"))
        self._live.update(picture, refresh=True)


def view_for(console: Console) -> View:
    return GamedayView(console) if console.is_terminal else PlainView(console)
