"""SIGKILL."""

from chaos.capabilities import CanKill, need
from chaos.faults.base import Undo
from chaos.faults.down import Down
from chaos.targets import Target


class Kill(Down, frozen=True):
    """Connections are reset at once and new ones refused, until the member is started again."""

    name = "kill"

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanKill, self.name).kill(target.name)
