"""Redis refuses writes."""

from chaos.capabilities import CanRefuseWrites, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo
from chaos.targets import Target


class Readonly(Fault, frozen=True):
    """Reads are answered as always and every write is refused with READONLY, as after a failover."""

    name = "readonly"
    hits = "member"
    hold = "readonly"

    def prepare(self, target: Target, lease: str) -> Undo:
        if not need(target.driver, CanRefuseWrites, self.name).accepts_writes(target.name):
            raise CannotInjectError(
                f"{self.name}: {target.name} refuses writes already, and is left as it is"
            )
        return {}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanRefuseWrites, self.name).refuse_writes(target.name)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        return _evidence(self, target, expected=False)

    def heal(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanRefuseWrites, self.name).accept_writes(target.name)

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        return _evidence(self, target, expected=True)


def _evidence(fault: Readonly, target: Target, *, expected: bool) -> Evidence:
    accepts = need(target.driver, CanRefuseWrites, fault.name).accepts_writes(target.name)
    return Evidence(accepts == expected, f"it {'accepts' if accepts else 'refuses'} writes")
