"""One client and one server that cannot hear each other."""

from chaos.faults.base import Evidence, Undo, silence
from chaos.faults.disturbance import Disturbance
from chaos.targets import Target


class Partition(Disturbance, frozen=True):
    """Nothing gets through in either direction and nobody is told: requests hang until they time out."""

    name = "partition"

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        forever = {"timeout": 0}
        return (("timeout", "downstream", forever), ("timeout", "upstream", forever))

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        return silence(target, within_s=1.0)
