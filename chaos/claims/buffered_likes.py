"""A viral post: likes put on Kafka and written in batches, against written one by one."""

import asyncio

from pymongo import UpdateOne

from chaos.claims.evidence import Check, Claim, Comparison, Evidence, Rate, Samples
from chaos.claims.ground import Ground
from chaos.claims.timing import clock
from chaos.claims.topics import Topic

LIKES, AT_ONCE, ROUNDS = 128, 32, 5
_BATCH = 500
_WRITES = ("update", "insert", "findAndModify")


async def experiment(ground: Ground) -> Evidence:
    await ground.mongo["posts"].insert_many([{"_id": way, "likeCount": 0} for way in ("direct", "buffered")])
    topic = await ground.topic("likes")
    await _like_buffered(topic, -1)
    waits: dict[str, list[float]] = {"direct": [], "buffered": []}
    writes: dict[str, list[float]] = {"direct": [], "buffered": []}
    for number in range(ROUNDS):
        before = _written(ground)
        waits["direct"].append(await clock(lambda: _together(ground, None, number)) / LIKES)  # noqa: B023
        writes["direct"].append((_written(ground) - before) / LIKES)
        waits["buffered"].append(await clock(lambda: _together(ground, topic, number)) / LIKES)  # noqa: B023
    records = [likes for likes in await topic.read(1 + ROUNDS * LIKES) if likes != b"user--1"]
    for first in range(0, len(records), LIKES):
        before = _written(ground)
        await _apply(ground, records[first : first + LIKES])
        writes["buffered"].append((_written(ground) - before) / LIKES)
    return Evidence(
        comparisons=[
            Comparison(f"one of {LIKES} likes, {AT_ONCE} at a time, until accepted", *_both(waits, "s")),
            Comparison("Mongo commands for a like", *_both(writes, "commands")),
        ],
        checks=[await _counts(ground), await _replay(ground, records[:LIKES])],
        rates={"direct_likes_rate": Rate(1 / sorted(waits["direct"])[ROUNDS // 2], "likes/s")},
    )


def _both(values: dict[str, list[float]], unit: str) -> tuple[Samples, Samples]:
    return Samples("buffered", unit, values["buffered"]), Samples("direct", unit, values["direct"])


def _written(ground: Ground) -> int:
    return sum(ground.tally.commands[name] for name in _WRITES)


async def _together(ground: Ground, topic: Topic | None, number: int) -> None:
    """One round of likes, on Kafka or straight into Mongo, at most `AT_ONCE` under way."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(user: int) -> None:
        async with gate:
            await (_like_direct(ground, user) if topic is None else _like_buffered(topic, user))

    await asyncio.gather(*(one(number * LIKES + user) for user in range(LIKES)))


async def _like_direct(ground: Ground, user: int) -> None:
    row = {"_id": f"direct:user-{user}"}
    done = await ground.mongo["likes"].update_one(row, {"$setOnInsert": {"postId": "direct"}}, upsert=True)
    if done.upserted_id is not None:
        await ground.mongo["posts"].update_one({"_id": "direct"}, {"$inc": {"likeCount": 1}})


async def _like_buffered(topic: Topic, user: int) -> None:
    await topic.append(f"user-{user}".encode())


async def _apply(ground: Ground, records: list[bytes]) -> int:
    """What a worker does with a batch: rows first, then the counter by how many of them were new."""
    rows = [
        UpdateOne({"_id": f"buffered:{user.decode()}"}, {"$setOnInsert": {"postId": "buffered"}}, upsert=True)
        for user in records
    ]
    new = (await ground.mongo["likes"].bulk_write(rows, ordered=False)).upserted_count
    if new:
        await ground.mongo["posts"].update_one({"_id": "buffered"}, {"$inc": {"likeCount": new}})
    return new


async def _counts(ground: Ground) -> Check:
    counts = {post["_id"]: post["likeCount"] async for post in ground.mongo["posts"].find()}
    exact = all(count == ROUNDS * LIKES for count in counts.values())
    text = f"of {ROUNDS * LIKES} likes each, {counts['direct']} direct and {counts['buffered']} buffered ones"
    return Check(f"{text} are counted", exact)


async def _replay(ground: Ground, records: list[bytes]) -> Check:
    new = await _apply(ground, records)
    return Check(f"a batch of {len(records)} that comes twice counts {new} more", new == 0)


CLAIM = Claim(
    "buffered-likes", "Likes on Kafka are accepted sooner and written with fewer commands", experiment
)
