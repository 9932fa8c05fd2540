"""Redis loses everything it holds."""

from chaos.capabilities import CanFlush, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo
from chaos.targets import Target


class Flush(Fault, frozen=True):
    """Every cache is cold at the same moment: reads miss, and all of them go to the database at once."""

    name = "flush"
    hits = "member"
    momentary = True

    def prepare(self, target: Target, lease: str) -> Undo:
        keys = need(target.driver, CanFlush, self.name).key_count(target.name)
        if keys == 0:
            raise CannotInjectError(f"{self.name}: {target.name} holds nothing that could be lost")
        return {"keys": str(keys)}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanFlush, self.name).flush(target.name)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        before, now = int(undo["keys"]), need(target.driver, CanFlush, self.name).key_count(target.name)
        return Evidence(now < before, f"{before} keys before, {now} after")

    def heal(self, target: Target, undo: Undo) -> None:
        """Nothing to undo: what is lost must be built again by the app."""

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        now = need(target.driver, CanFlush, self.name).key_count(target.name)
        return Evidence(True, f"it answers and holds {now} keys, {undo['keys']} before")
