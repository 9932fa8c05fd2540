"""What a soak looks at beyond the backlog: memory and open files of every process, and the sizes of feeds."""

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import psutil

from chaos.sampling import TIMEOUT_S, Probe, Reading, backlog
from compose.embedded.state import StackFile
from compose.stack import Stack

_MIB: Final = 2**20
_FEEDS: Final = 40


def probes_for(stack: Stack, closing: ExitStack, home: Path, seed: int) -> list[Probe]:
    """What can be looked at on this stack. Processes only where they are this machine's own."""
    probes = [*backlog(stack, closing), redis_probe(stack.endpoints.redis_url, seed), runner]
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


def redis_probe(url: str, seed: int) -> Probe:
    """Redis' own memory, and the longest of some feeds: feeds are bounded, so none may outgrow its bound."""
    rng = random.Random(f"{seed}/feeds")
    feeds: list[bytes] = []

    def look() -> Iterator[Reading]:
        from redis import Redis

        with Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None
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
