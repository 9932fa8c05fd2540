"""A celebrity's post: pushing it into every follower's feed, against writing it once."""

import asyncio
import time
from statistics import median

from chaos.claims.evidence import Chart, Claim, Comparison, Evidence, Line, Rate
from chaos.claims.ground import Ground
from chaos.claims.timing import Way, take_turns

_SIZES = (500, 2000, 8000)
COPIES = 10
_CHUNK, _IN_FLIGHT = 500, 4
_PUSH = "for i = 1, #KEYS do redis.call('ZADD', KEYS[i], ARGV[1], ARGV[2]) end return #KEYS"
"""One round trip for a chunk of feeds, as the fan-out worker does it."""


async def experiment(ground: Ground) -> Evidence:
    digest = await ground.redis.script_load(_PUSH)
    ways: dict[str, Way] = {f"{size:,} feeds": _fan_out(ground, digest, size) for size in _SIZES}
    samples = await take_turns({"one write": _one_write(ground), **ways})
    greatest = f"{_SIZES[-1]:,} feeds"
    medians = [median(samples[f"{size:,} feeds"].values) for size in _SIZES]
    sizes = [float(size) for size in _SIZES]
    chart = Chart(
        "Writing one post",
        "followers",
        "seconds (median)",
        [
            Line("pushed to every feed", sizes, medians),
            Line(f"one write ({COPIES} copies)", sizes, [median(samples["one write"].values)] * len(sizes)),
        ],
    )
    what = f"writing a post for {_SIZES[-1]:,} followers"
    return Evidence(
        comparisons=[Comparison(what, samples["one write"], samples[greatest])],
        charts=[chart],
        rates={"fan_out_rate": Rate(_SIZES[-1] / medians[-1], "feeds/s")},
    )


def _fan_out(ground: Ground, digest: str, size: int) -> Way:
    chunks = [
        [ground.key("feed", number) for number in range(first, min(first + _CHUNK, size))]
        for first in range(0, size, _CHUNK)
    ]
    gate = asyncio.Semaphore(_IN_FLIGHT)

    async def push(keys: list[str], post: str) -> None:
        async with gate:
            await ground.redis.evalsha(digest, len(keys), *keys, str(time.time_ns()), post)

    async def fan_out() -> None:
        post = ground.uuid()
        await asyncio.gather(*(push(keys, post) for keys in chunks))

    return fan_out


def _one_write(ground: Ground) -> Way:
    async def write() -> None:
        pipeline = ground.redis.pipeline(transaction=False)
        for copy in range(COPIES):
            pipeline.zadd(ground.key("celeb", "posts", copy), {ground.uuid(): time.time_ns()})
        await pipeline.execute()

    return write


CLAIM = Claim(
    "fan-out", "Pushing a post into N feeds costs N times; one write for a celebrity does not", experiment
)
