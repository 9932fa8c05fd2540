"""What is looked at every few seconds of a soak: memory and open files of every process, lag, feed sizes.

Each probe is one small function from a stack to gauges. A probe that cannot look says nothing for that
moment: during a fault that is the usual thing, and a hole in a record does no harm to a trend.
"""

import asyncio
import math
import os
import random
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import psutil

from compose.embedded.state import StackFile
from compose.stack import Component, Stack
from results.history import GAUGES, Clock, Gauge, Log

Reading: TypeAlias = tuple[str, str, float]
"""(member, name, value)"""
Probe: TypeAlias = Callable[[], Iterator[Reading]]

_MIB: Final = 2**20
_TIMEOUT_S: Final = 1.0
_FEEDS: Final = 40
_BACKLOG: Final = ("feed_backlog", "feed_outbox_pending")


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
            try:
                readings = [reading for reading in probe() if math.isfinite(reading[2])]
            except Exception:  # whoever is looked at may be down, paused or gone: that is what a soak does
                continue
            now = self._clock.now()
            self._log.append(*(Gauge(now, *reading) for reading in readings))


def probes_for(stack: Stack, home: Path, seed: int) -> list[Probe]:
    """What can be looked at on this stack. Processes only where they are this machine's own."""
    metrics = [
        (member.name, f"http://{member.address}/metrics")
        for member in stack.members
        if member.component is Component.WORKER and member.address
    ]
    probes: list[Probe] = [lambda: backlog(metrics), redis_probe(stack.endpoints.redis_url, seed)]
    if stack.kind == "embedded":
        probes.append(lambda: processes(home))
    return probes


def processes(home: Path) -> Iterator[Reading]:
    """Memory (resident, less what is shared with others where that is known), open files, threads."""
    record = StackFile(home).read()
    for member in record.alive if record is not None else ():
        if member.process is not None:
            yield from process(member.name, member.process.pid)


def process(name: str, pid: int) -> Iterator[Reading]:
    """Nothing if the process ends meanwhile."""
    try:
        looked_at = psutil.Process(pid)
        with looked_at.oneshot():
            yield name, "rss_mib", looked_at.memory_info().rss / _MIB
            yield name, "open_files", float(looked_at.num_fds())
            yield name, "threads", float(looked_at.num_threads())
    except psutil.Error:
        return


def runner() -> Iterator[Reading]:
    """The process that runs the soak: a watcher that leaks would not last the night either."""
    return process("runner", os.getpid())


def backlog(metrics: Sequence[tuple[str, str]]) -> Iterator[Reading]:
    """What workers have yet to do, by worker."""
    for name, url in metrics:
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
                text = answer.read().decode()
        except OSError:
            continue
        for gauge in _BACKLOG:
            values = list(_values(text, gauge))
            if values:
                yield name, gauge, sum(values)


def _values(text: str, name: str) -> Iterator[float]:
    """Every sample of a metric in Prometheus' text format, whatever its labels."""
    for line in text.splitlines():
        label, _, value = line.rpartition(" ")
        if label == name or label.startswith(name + "{"):
            yield float(value)


def redis_probe(url: str, seed: int) -> Probe:
    """Redis' own memory, and the longest of some feeds: feeds are bounded, so none may outgrow its bound."""
    rng = random.Random(f"{seed}/feeds")
    feeds: list[bytes] = []

    def look() -> Iterator[Reading]:
        from redis import Redis

        with Redis.from_url(
            url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S, retry=None
        ) as client:
            answer: Any = client.info("memory")
            yield "redis", "redis_used_mib", answer["used_memory"] / _MIB
            if not feeds:
                found = _some_feeds(client)
                feeds.extend(rng.sample(found, min(_FEEDS, len(found))))
            pipeline = client.pipeline(transaction=False)
            for feed in feeds:
                pipeline.zcard(feed)
            sizes = pipeline.execute() if feeds else []
            if sizes:
                yield "redis", "feed_size_max", float(max(sizes))

    return look


def _some_feeds(client: Any) -> list[bytes]:
    """A few hundred keys are enough to draw from."""
    found: list[bytes] = []
    for key in client.scan_iter(match="feed:*", count=500):
        if key.count(b":") == 1:
            found.append(key)
        if len(found) >= 10 * _FEEDS:
            break
    return found
