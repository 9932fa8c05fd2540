"""A network that hangs up."""

from chaos.faults.base import Evidence, Undo, silence
from chaos.faults.disturbance import Disturbance
from chaos.targets import Target
from chaos.units import Seconds


class Reset(Disturbance, frozen=True):
    """Connections are made and then reset (TCP RST), at once or after a while; retrying meets the same."""

    name = "reset"

    after: Seconds = Seconds(0)

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        return (("reset_peer", "downstream", {"timeout": round(self.after * 1000)}),)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        return silence(target, within_s=1.0 + self.after)
