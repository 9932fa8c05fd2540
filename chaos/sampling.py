"""What is looked at every few moments of a run, beside the load: gauges of whoever takes part.

Each probe is one small function that yields readings. A probe that cannot look says nothing for that moment:
during a fault that is the usual thing, and a hole in a chart shows it.
"""

import asyncio
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from compose.stack import Stack, worker_metrics
from results.audit import ReadError
from results.audit.gauges import read_gauges
from results.history import GAUGES, Clock, Gauge, Log

Reading: TypeAlias = tuple[str, str, float]
"""(member, name, value)"""
Probe: TypeAlias = Callable[[], Iterable[Reading]]

TIMEOUT_S = 1.0
_OWED = "feed_outbox_pending"
_OUR_GROUPS = "feedstorm."


def backlog(stack: Stack, closing: ExitStack) -> list[Probe]:
    """What is accepted and not done yet: how far readers of Kafka are behind, and what posts are owed."""
    workers = worker_metrics(stack.members)
    return [kafka_lag(stack.endpoints.kafka_bootstrap, closing), lambda: owed(workers)]


@dataclass(frozen=True)
class Sampling:
    """What is to be looked at, and how often. `for_drift`: whether `results.drifts` judges by it.

    `probes` may leave with the ExitStack what has to be closed after the last look.
    """

    probes: Callable[[Stack, ExitStack], Sequence[Probe]] = backlog
    every_s: float = 1.0
    for_drift: bool = False


class Sampler:
    """Writes `gauges.jsonl` until cancelled. Each probe has a thread: a slow one holds up nobody else."""

    def __init__(self, sampling: Sampling, stack: Stack, directory: Path, clock: Clock) -> None:
        self._closing = ExitStack()
        self._probes = sampling.probes(stack, self._closing)
        self._threads = ThreadPoolExecutor(len(self._probes), thread_name_prefix="sampler")
        self._clock, self._every_s = clock, sampling.every_s
        self._log = Log[Gauge](directory / GAUGES)
        self._writing = threading.Lock()
        self._ended = False

    async def run(self) -> None:
        try:
            await asyncio.gather(*(self._ask(probe) for probe in self._probes))
        finally:
            with self._writing:  # a look that is still under way finds that it is too late
                self._ended = True
                self._log.close()
            self._threads.shutdown(wait=False)
            await asyncio.to_thread(self._closing.close)

    async def _ask(self, probe: Probe) -> None:
        while True:
            due = self._clock.now() + self._every_s
            await asyncio.get_running_loop().run_in_executor(self._threads, self.look, probe)
            await asyncio.sleep(max(0.0, due - self._clock.now()))

    def look(self, probe: Probe) -> None:
        """Blocking; bounded by the probe's own time-outs."""
        now = self._clock.now()
        try:
            readings = [reading for reading in probe() if math.isfinite(reading[2])]
        except Exception:  # whoever is looked at may be down, paused or gone: that is what a run does
            return
        with self._writing:
            if not self._ended:
                self._log.append(*(Gauge(now, *reading) for reading in readings))


def kafka_lag(bootstrap: str, closing: ExitStack) -> Probe:
    """Records that each group has not committed yet: `("fanout", "kafka_lag", 12.0)`."""
    from compose.kafka_lag import KafkaLag  # loads the Kafka client, which most commands do without

    lag = KafkaLag(bootstrap, within_s=TIMEOUT_S)
    closing.callback(lag.close)

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
            told += read_gauges([url], [_OWED], TIMEOUT_S)
    if told:
        yield "workers", _OWED, sum(reading.value for reading in told)
