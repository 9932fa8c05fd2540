"""What `kill` and `stop` share: a member is ended, stays down, and is started again."""

from chaos.capabilities import CanKill, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo, look_until, silence
from chaos.targets import Target
from compose.stack import State


class Down(Fault, frozen=True):
    """The member's process is gone."""

    hits = "member"
    hold = "down"

    def prepare(self, target: Target, lease: str) -> Undo:
        if need(target.driver, CanKill, self.name).state(target.name) in (State.DOWN, State.GONE):
            raise CannotInjectError(f"{self.name}: {target.name} is down already, and is left as it is")
        return {}

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        state = need(target.driver, CanKill, self.name).state(target.name)
        if state not in (State.DOWN, State.GONE):
            return Evidence(False, f"its process is {state}: something started it again")
        return silence(target)

    def heal(self, target: Target, undo: Undo) -> None:
        driver = need(target.driver, CanKill, self.name)
        if driver.state(target.name) == State.DOWN:
            driver.start(target.name)

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        driver = need(target.driver, CanKill, self.name)

        def look() -> Evidence:
            state = driver.state(target.name)
            return Evidence(state in (State.RUNNING, State.PAUSED), f"its process is {state}")

        return look_until(look, within_s=5)
