"""A post that everybody reads: one Redis key, ten copies of it, or the process's own memory."""

import asyncio
import random

from chaos.claims.evidence import Claim, Comparison, Evidence, Samples
from chaos.claims.ground import Ground
from chaos.claims.timing import Way, take_turns

COPIES, READS, READERS = 10, 2000, 4
_PIPELINE = 100
_PAGE_BYTES = 2000


async def copies(ground: Ground) -> Evidence:
    samples = await _measure(ground)
    info = await ground.redis.info("cluster")
    notes = []
    if not info.get("cluster_enabled"):
        notes.append(f"all {COPIES} copies lie on one Redis server, which answers one request at a time")
    comparison = Comparison("one read of a hot key", samples["ten copies"], samples["one key"])
    return Evidence(comparisons=[comparison], notes=notes)


async def memory(ground: Ground) -> Evidence:
    samples = await _measure(ground)
    comparisons = [
        Comparison("one read of a hot key", samples["own memory"], samples[other])
        for other in ("one key", "ten copies")
    ]
    return Evidence(comparisons=comparisons)


async def _measure(ground: Ground) -> dict[str, Samples]:
    page = "x" * _PAGE_BYTES
    for copy in range(COPIES):
        await ground.redis.set(ground.key("hot", copy), page)
    return await take_turns(
        {
            "one key": _from_redis(ground, 1),
            "ten copies": _from_redis(ground, COPIES),
            "own memory": _from_memory(ground),
        },
        per=READS,
    )


def _from_redis(ground: Ground, copies: int) -> Way:
    """Several readers at once, each with many reads under way: what the server can do, not the network."""
    keys = [ground.key("hot", copy) for copy in range(copies)]

    async def reader(rng: random.Random) -> None:
        for _ in range(READS // READERS // _PIPELINE):
            pipeline = ground.redis.pipeline(transaction=False)
            for _ in range(_PIPELINE):
                pipeline.get(rng.choice(keys))
            await pipeline.execute()

    async def read() -> None:
        await asyncio.gather(*(reader(random.Random(number)) for number in range(READERS)))

    return read


def _from_memory(ground: Ground) -> Way:
    """One read of Redis, then everything from a dictionary: what a process does within a few seconds."""
    key = ground.key("hot", 0)

    async def read() -> None:
        kept: dict[str, bytes | str | None] = {}
        for _ in range(READS):
            if key not in kept:
                kept[key] = await ground.redis.get(key)

    return read


COPIES_CLAIM = Claim("hot-key-copies", "Ten copies of a hot key serve more reads than one", copies)
MEMORY_CLAIM = Claim(
    "hot-key-memory", "A few seconds in the process's own memory beat any number of copies", memory
)
