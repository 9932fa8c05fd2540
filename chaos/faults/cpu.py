"""Too little CPU."""

from chaos import probes
from chaos.capabilities import CanStarve, need
from chaos.faults.base import Evidence, Fault, Undo
from chaos.targets import Target
from chaos.units import Share

_FELT_S = 0.02


class Cpu(Fault, frozen=True):
    """The member gets only a share of its CPU time: everything it does is slow, nothing is refused."""

    name = "cpu"
    hits = "member"

    share: Share = Share(0.1)

    def prepare(self, target: Target, lease: str) -> Undo:
        need(target.driver, CanStarve, self.name)
        return {"token": f"{lease}.{target.name}"}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanStarve, self.name).starve(target.name, self.share, undo["token"])

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        if not need(target.driver, CanStarve, self.name).is_starved(target.name, undo["token"]):
            return Evidence(False, "nothing holds it back")
        worst = max((_look(target) for _ in range(5)), default=0.0)
        return Evidence(worst >= _FELT_S, f"the slowest of 5 probes took {worst * 1000:.0f} ms")

    def heal(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanStarve, self.name).feed(target.name, undo["token"])

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        starved = need(target.driver, CanStarve, self.name).is_starved(target.name, undo["token"])
        return Evidence(not starved, "it is held back still" if starved else "nothing holds it back")


def _look(target: Target) -> float:
    within_s = 2.0
    try:
        return probes.answer_time(target.component, target.address, within_s=within_s)
    except OSError:
        return within_s
