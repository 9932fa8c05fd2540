"""A closed link."""

from chaos.capabilities import CanCut, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo, silence
from chaos.targets import Target


class Cut(Fault, frozen=True):
    """Open connections through the link break and new ones are refused; both ends are alive."""

    name = "cut"
    hits = "link"
    hold = "cut"

    def prepare(self, target: Target, lease: str) -> Undo:
        if need(target.driver, CanCut, self.name).is_cut(target.name):
            raise CannotInjectError(f"{self.name}: {target.name} is closed already, and is left as it is")
        return {}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanCut, self.name).cut(target.name)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        return silence(target)

    def heal(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanCut, self.name).mend(target.name)

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        is_cut = need(target.driver, CanCut, self.name).is_cut(target.name)
        return Evidence(not is_cut, "the link is closed" if is_cut else "the link is open")
