"""A cold cache and 1,000 readers at the same moment: 1,000 queries, or one."""

import asyncio

from chaos.claims.evidence import Claim, Comparison, Evidence, Samples
from chaos.claims.ground import Document, Ground
from chaos.claims.timing import clock

READERS, ROUNDS = 1000, 5


async def experiment(ground: Ground) -> Evidence:
    await ground.mongo["posts"].insert_one({"_id": "hot", "text": "x" * 1000})
    await _find(ground)
    queries: dict[bool, list[float]] = {False: [], True: []}
    waits: dict[bool, list[float]] = {False: [], True: []}
    for number in range(ROUNDS):
        for coalesced in (False, True) if number % 2 == 0 else (True, False):
            before = ground.tally.commands["find"]
            waits[coalesced].append(await clock(lambda: _everybody(ground, coalesced=coalesced)))  # noqa: B023
            queries[coalesced].append(float(ground.tally.commands["find"] - before))
    what = f"{READERS:,} misses at once"
    return Evidence(
        comparisons=[
            Comparison(
                what,
                Samples("coalesced", "queries", queries[True]),
                Samples("each on its own", "queries", queries[False]),
            ),
            Comparison(
                f"{what}, until the last has its answer",
                Samples("coalesced", "s", waits[True]),
                Samples("each on its own", "s", waits[False]),
            ),
        ]
    )


async def _find(ground: Ground) -> Document | None:
    return await ground.mongo["posts"].find_one({"_id": "hot"})


async def _everybody(ground: Ground, *, coalesced: bool) -> None:
    """All readers find the cache empty. Coalesced, the first one asks, and the others wait with it."""
    asking: dict[str, asyncio.Task[Document | None]] = {}

    async def reader() -> None:
        if not coalesced:
            await _find(ground)
            return
        if "hot" not in asking:
            asking["hot"] = asyncio.create_task(_find(ground))
        await asking["hot"]

    await asyncio.gather(*(reader() for _ in range(READERS)))


CLAIM = Claim("coalescing", "1,000 misses at once become one query", experiment, within_s=50.0)
