"""A member that is on no network any more."""

from chaos.capabilities import CanIsolate, CanKill, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo, look_until, silence
from chaos.targets import Target
from compose.stack import State


class Isolate(Fault, frozen=True):
    """Nobody reaches the member and it reaches nobody, not even its peers; its process runs on."""

    name = "isolate"
    hits = "member"
    hold = "cut"

    def prepare(self, target: Target, lease: str) -> Undo:
        driver = need(target.driver, CanIsolate, self.name)
        state = need(target.driver, CanKill, self.name).state(target.name)
        if state not in (State.RUNNING, State.PAUSED) or driver.is_isolated(target.name):
            raise CannotInjectError(
                f"{self.name}: {target.name} is {state} or on no network, and is left as it is"
            )
        return {"seats": driver.seats(target.name)}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanIsolate, self.name).isolate(target.name)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        if not need(target.driver, CanIsolate, self.name).is_isolated(target.name):
            return Evidence(False, "it is on a network")
        return silence(target)

    def heal(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanIsolate, self.name).rejoin(target.name, undo["seats"])

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        driver = need(target.driver, CanIsolate, self.name)

        def look() -> Evidence:
            isolated = driver.is_isolated(target.name)
            return Evidence(
                not isolated, "it is on no network" if isolated else "it is on its networks again"
            )

        return look_until(look, within_s=5)
