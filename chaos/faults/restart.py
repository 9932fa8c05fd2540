"""SIGTERM and at once a new start."""

from chaos.capabilities import CanTerminate, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Undo
from chaos.faults.down import Down
from chaos.targets import Target
from compose.stack import State


class Restart(Down, frozen=True):
    """The member is away for as long as it needs to start: connections break once, caches in it are cold."""

    name = "restart"
    momentary = True

    def prepare(self, target: Target, lease: str) -> Undo:
        undo = super().prepare(target, lease)
        return {**undo, "life": need(target.driver, CanTerminate, self.name).life(target.name)}

    def inject(self, target: Target, undo: Undo) -> None:
        driver = need(target.driver, CanTerminate, self.name)
        driver.terminate(target.name)
        if driver.state(target.name) != State.DOWN:
            raise CannotInjectError(f"{self.name}: {target.name} did not end when it was asked to")
        driver.start(target.name)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        driver = need(target.driver, CanTerminate, self.name)
        before, now, state = undo["life"], driver.life(target.name), driver.state(target.name)
        if now == before:
            return Evidence(False, f"it is the same process as before, {state}")
        return Evidence(True, f"another process runs in its place, {state}")
