"""A slow network."""

from chaos.faults.base import Evidence, Undo
from chaos.faults.disturbance import Disturbance, slowness
from chaos.targets import Target
from chaos.units import Seconds


class Latency(Disturbance, frozen=True):
    """Every answer comes later by the delay, give or take the jitter; nothing is refused or lost."""

    name = "latency"

    delay: Seconds
    jitter: Seconds = Seconds(0)

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        attributes = {"latency": round(self.delay * 1000), "jitter": round(self.jitter * 1000)}
        return (("latency", "downstream", attributes),)

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        return slowness(target, at_least_s=max(0.0, self.delay - self.jitter) * 0.9)
