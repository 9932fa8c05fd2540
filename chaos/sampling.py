"""What is looked at every few moments of a run, beside the load: gauges of whoever takes part.

Each probe is one small function that yields readings. A probe that cannot look says nothing for that moment:
during a fault that is the usual thing, and a hole in a chart shows it.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from compose.stack import Component, Stack
from results.audit import ReadError
from results.audit.api_reader import gauge_total
from results.history import GAUGES, Clock, Gauge, Log

Reading: TypeAlias = tuple[str, str, float]
"""(member, name, value)"""
Probe: TypeAlias = Callable[[], Iterable[Reading]]

TIMEOUT_S = 1.0
_OWED = "feed_outbox_pending"
_OUR_GROUPS = "feedstorm."


def backlog(stack: Stack) -> list[Probe]:
    """What is accepted and not done yet: how far readers of Kafka are behind, and what posts are owed."""
    workers = [
        f"http://{member.address}/metrics"
        for member in stack.members
        if member.component is Component.WORKER and member.address
    ]
    return [kafka_lag(stack.endpoints.kafka_bootstrap), lambda: owed(workers)]


@dataclass(frozen=True)
class Sampling:
    """What is to be looked at, and how often. `for_drift`: whether `results.drifts` judges by it."""

    probes: Callable[[Stack], Sequence[Probe]] = backlog
    every_s: float = 1.0
    for_drift: bool = False


class Sampler:
    """Writes `gauges.jsonl` until cancelled."""

    def __init__(self, probes: Sequence[Probe], directory: Path, clock: Clock, every_s: float) -> None:
        self._probes, self._clock, self._every_s = probes, clock, every_s
        self._log = Log[Gauge](directory / GAUGES)

    async def run(self) -> None:
        try:
            while True:
                due = self._clock.now() + self._every_s
                await asyncio.to_thread(self.look)
                await asyncio.sleep(max(0.0, due - self._clock.now()))
        finally:
            self._log.close()

    def look(self) -> None:
        """Every probe once. Blocking; bounded by the probes' own time-outs."""
        for probe in self._probes:
            now = self._clock.now()
            try:
                readings = [reading for reading in probe() if math.isfinite(reading[2])]
            except Exception:  # whoever is looked at may be down, paused or gone: that is what a run does
                continue
            self._log.append(*(Gauge(now, *reading) for reading in readings))


def kafka_lag(bootstrap: str) -> Probe:
    """Records that each group has not committed yet: `("fanout", "kafka_lag", 12.0)`."""
    from compose.kafka_lag import KafkaLag  # loads the Kafka client, which most commands do without

    lag = KafkaLag(bootstrap, within_s=TIMEOUT_S)

    def look() -> Iterator[Reading]:
        for (group, _), records in lag.read().items():
            if group.startswith(_OUR_GROUPS):
                yield group.removeprefix(_OUR_GROUPS), "kafka_lag", float(records)

    return look


def owed(workers: Iterable[str]) -> Iterator[Reading]:
    """What is written and still owed to feeds and counters, by all workers that answer."""
    told = []
    for url in workers:
        with suppress(ReadError):
            told.append(gauge_total([url], [_OWED], TIMEOUT_S))
    if told:
        yield "workers", _OWED, sum(told)
