"""Who is primary: each Mongo member is asked itself, at the port that it publishes on this machine."""

import threading
import time

from compose.docker.project import Container, Project
from compose.ready import says_primary
from compose.stack import Component

_LOOK_AGAIN_S = 1.0


class PrimaryFinder:
    """Remembers who was asked last, because a watcher asks five times a second; looks again when none is."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._members: tuple[Container, ...] = ()
        self._looked_at = float("-inf")

    def find(self) -> str | None:
        """The member that says it is primary; None while none does. Raises StackError: no engine."""
        with self._lock:
            found = self._ask()
            if found is None and time.monotonic() - self._looked_at >= _LOOK_AGAIN_S:
                self._looked_at = time.monotonic()
                self._members = tuple(
                    each for each in self._project.look() if each.part.component == Component.MONGO
                )
                found = self._ask()
            return found

    def _ask(self) -> str | None:
        for member in self._members:
            address = self._project.address(member)
            if address and says_primary(address):
                return member.name
        return None
