"""A network that swallows everything, then hangs up."""

from chaos.faults.base import Evidence, Undo, silence
from chaos.faults.disturbance import Disturbance
from chaos.targets import Target
from chaos.units import Seconds


class Timeout(Disturbance, frozen=True):
    """Requests go nowhere, and after a while the connection is closed under the client."""

    name = "timeout"

    after: Seconds

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        return (("timeout", "downstream", {"timeout": max(1, round(self.after * 1000))}),)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        return silence(target, within_s=1.0)
