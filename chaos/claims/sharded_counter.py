"""A post that everybody likes: one counter, or a hundred whose sum is the count."""

import asyncio
import random

from chaos.claims.evidence import Claim, Comparison, Evidence
from chaos.claims.ground import Ground
from chaos.claims.timing import Way, take_turns

SHARDS, WRITERS = 100, 32
_REDIS_LIKES, _MONGO_LIKES = 2000, 96
_PIPELINE = 50


async def in_redis(ground: Ground) -> Evidence:
    ways = {
        "100 shards": _redis_likes(ground, SHARDS),
        "one counter": _redis_likes(ground, 1),
    }
    samples = await take_turns(ways, per=_REDIS_LIKES)
    return Evidence(
        comparisons=[Comparison("one like counted in Redis", samples["100 shards"], samples["one counter"])],
        notes=["Redis is one server here, which does one increment at a time whatever the key"],
    )


async def in_mongo(ground: Ground) -> Evidence:
    await ground.mongo["likes"].insert_many([{"_id": shard, "count": 0} for shard in range(SHARDS)])
    ways = {
        "100 shards": _mongo_likes(ground, SHARDS),
        "one counter": _mongo_likes(ground, 1),
    }
    samples = await take_turns(ways, per=_MONGO_LIKES)
    return Evidence(
        comparisons=[Comparison("one like counted in Mongo", samples["100 shards"], samples["one counter"])]
    )


def _redis_likes(ground: Ground, shards: int) -> Way:
    async def writer(rng: random.Random) -> None:
        for _ in range(_REDIS_LIKES // 4 // _PIPELINE):
            pipeline = ground.redis.pipeline(transaction=False)
            for _ in range(_PIPELINE):
                pipeline.incr(ground.key("likes", shards, rng.randrange(shards)))
            await pipeline.execute()

    async def like() -> None:
        await asyncio.gather(*(writer(random.Random(number)) for number in range(4)))

    return like


def _mongo_likes(ground: Ground, shards: int) -> Way:
    likes = ground.mongo["likes"]

    async def writer(rng: random.Random) -> None:
        for _ in range(_MONGO_LIKES // WRITERS):
            await likes.update_one({"_id": rng.randrange(shards)}, {"$inc": {"count": 1}})

    async def like() -> None:
        await asyncio.gather(*(writer(random.Random(number)) for number in range(WRITERS)))

    return like


REDIS_CLAIM = Claim("sharded-counter-redis", "100 counters in Redis take more likes than one", in_redis)
MONGO_CLAIM = Claim("sharded-counter-mongo", "100 counters in Mongo take more likes than one", in_mongo)
