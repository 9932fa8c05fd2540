"""A network that cuts messages into pieces."""

from typing import Annotated

import msgspec

from chaos.faults.base import Evidence, Undo
from chaos.faults.disturbance import PROBE_BYTES, Disturbance, slowness
from chaos.targets import Target
from chaos.units import Seconds


class Slicer(Disturbance, frozen=True):
    """Messages arrive in small pieces with pauses between them: a client that reads once reads half."""

    name = "slicer"

    piece_bytes: Annotated[int, msgspec.Meta(ge=2)] = 512
    pause: Seconds = Seconds(0.005)

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        attributes = {
            "average_size": self.piece_bytes,
            "size_variation": self.piece_bytes // 2,
            "delay": round(self.pause * 1_000_000),
        }
        return (("slicer", "downstream", attributes), ("slicer", "upstream", attributes))

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        expected_s = PROBE_BYTES / self.piece_bytes * self.pause
        return slowness(target, at_least_s=expected_s * 0.5, payload_bytes=PROBE_BYTES)
