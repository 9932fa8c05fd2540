"""SIGSTOP, or a cgroup freeze."""

from chaos.capabilities import CanPause, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo, look_until, silence
from chaos.targets import Target
from compose.stack import State


class Pause(Fault, frozen=True):
    """The member is frozen: its connections stay open, new ones are accepted, and nothing answers."""

    name = "pause"
    hits = "member"
    hold = "frozen"

    def prepare(self, target: Target, lease: str) -> Undo:
        state = need(target.driver, CanPause, self.name).state(target.name)
        if state not in (State.RUNNING, State.PAUSED):
            raise CannotInjectError(
                f"{self.name}: {target.name} is {state}, and only what runs can be frozen"
            )
        return {}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanPause, self.name).pause(target.name)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        state = need(target.driver, CanPause, self.name).state(target.name)
        return silence(target) if state == State.PAUSED else Evidence(False, f"its process is {state}")

    def heal(self, target: Target, undo: Undo) -> None:
        driver = need(target.driver, CanPause, self.name)
        if driver.state(target.name) == State.PAUSED:
            driver.resume(target.name)

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        driver = need(target.driver, CanPause, self.name)

        def look() -> Evidence:
            state = driver.state(target.name)
            return Evidence(state != State.PAUSED, f"its process is {state}")

        return look_until(look, within_s=5)
