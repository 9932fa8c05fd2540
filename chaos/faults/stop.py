"""SIGTERM."""

from chaos.capabilities import CanTerminate, need
from chaos.faults.base import Undo
from chaos.faults.down import Down
from chaos.targets import Target


class Stop(Down, frozen=True):
    """The member says goodbye: it finishes what it has begun, then refuses connections until its start."""

    name = "stop"

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanTerminate, self.name).terminate(target.name)
