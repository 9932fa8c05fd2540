"""A narrow network."""

from typing import Annotated

import msgspec

from chaos.faults.base import Evidence, Undo
from chaos.faults.disturbance import PROBE_BYTES, Disturbance, slowness
from chaos.targets import Target


class Bandwidth(Disturbance, frozen=True):
    """Small answers come as always and big ones crawl; queues build up behind them."""

    name = "bandwidth"

    rate_kib_per_s: Annotated[int, msgspec.Meta(ge=1)]

    def toxics(self) -> tuple[tuple[str, str, dict[str, int]], ...]:
        attributes = {"rate": self.rate_kib_per_s}
        return (("bandwidth", "downstream", attributes), ("bandwidth", "upstream", attributes))

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        expected_s = PROBE_BYTES / (self.rate_kib_per_s * 1024)
        return slowness(target, at_least_s=expected_s * 0.5, payload_bytes=PROBE_BYTES)
