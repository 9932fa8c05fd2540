"""The Mongo primary steps down."""

from chaos.capabilities import CanStepDown, need
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence, Fault, Undo, look_until
from chaos.targets import Target
from chaos.units import Seconds


class StepDown(Fault, frozen=True):
    """The primary hands over, as in maintenance: writes are refused for a moment, and no process dies."""

    name = "step-down"
    hits = "member"
    momentary = True

    stays_down: Seconds = Seconds(20)

    def prepare(self, target: Target, lease: str) -> Undo:
        primary = need(target.driver, CanStepDown, self.name).primary()
        if primary != target.name:
            raise CannotInjectError(f"{self.name}: {target.name} is not primary, {primary or 'nobody'} is")
        return {}

    def inject(self, target: Target, undo: Undo) -> None:
        need(target.driver, CanStepDown, self.name).step_down(target.name, self.stays_down)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        driver = need(target.driver, CanStepDown, self.name)

        def look() -> Evidence:
            primary = driver.primary()
            return Evidence(primary != target.name, f"{primary or 'nobody'} is primary")

        return look_until(look, within_s=3)

    def heal(self, target: Target, undo: Undo) -> None:
        """Nothing to undo: the replica set elects somebody by itself."""

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        driver = need(target.driver, CanStepDown, self.name)

        def look() -> Evidence:
            primary = driver.primary()
            return Evidence(primary is not None, f"{primary or 'nobody'} is primary")

        return look_until(look, within_s=15)
