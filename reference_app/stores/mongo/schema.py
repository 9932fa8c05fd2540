"""All collections, indexes and shard keys, in one place; made idempotently by `init`."""

from dataclasses import dataclass
from typing import Any, Final

from pymongo import ASCENDING, IndexModel
from pymongo.asynchronous.database import AsyncDatabase

Document = dict[str, Any]
"""A BSON document on its way to or from the driver; `documents.py` turns it into the domain's own types."""


def _index(*names: str, partial: Document | None = None) -> IndexModel:
    """All indexes are ascending, with `_id` last where a page's order needs a tie-break."""
    keys = [(name, ASCENDING) for name in names]
    if partial is None:
        return IndexModel(keys, name="_".join(names))
    return IndexModel(keys, name="_".join(names), partialFilterExpression=partial)


@dataclass(frozen=True)
class Collection:
    """`shard_key` names the field whose hash spreads the collection over shards; without one it stays whole.

    Whoever is followed by many must not put all those rows on one shard, so `follows` goes by the follower:
    somebody's followings are on one shard, a celebrity's followers on all. Likes and comments are asked for
    by post. The rest is small, or read by `_id`.
    """

    indexes: tuple[IndexModel, ...] = ()
    shard_key: str | None = None


COLLECTIONS: Final[dict[str, Collection]] = {
    "users": Collection((_index("isCelebrity", "followerCount"),)),
    "follows": Collection(
        shard_key="followerId",
        indexes=(
            IndexModel([("followerId", ASCENDING), ("followeeId", ASCENDING)], name="pair", unique=True),
            _index("followeeId", "status", "createdAt", "_id"),
            _index("followerId", "status", "createdAt", "_id"),
            _index("followeeId", "status", "updatedAt", "followerId"),
            _index("feedOwed", "updatedAt", partial={"feedOwed": True}),
            _index("countOwed", "updatedAt", partial={"countOwed": True}),
        ),
    ),
    "posts": Collection(
        (
            _index("authorId", "createdAt", "_id"),
            _index("outbox", "outboxDueAt", partial={"outbox": "pending"}),
            _index("bodyOwed", "_id", partial={"bodyOwed": True}),
        ),
    ),
    "likes": Collection((_index("postId", "status"),), shard_key="postId"),
    "likeCounts": Collection((_index("postId", "shard"), _index("owed", "postId", partial={"owed": True}))),
    "comments": Collection(
        shard_key="postId",
        indexes=(
            _index("postId", "createdAt", "_id"),
            _index("countOwed", "postId", partial={"countOwed": True}),
        ),
    ),
    "media": Collection((_index("status", "_id"),)),
}


async def ensure_schema(database: AsyncDatabase[Document]) -> list[str]:
    """Make what is missing; on a sharded cluster shard the collections too. Returns what was ensured."""
    hello = await database.client.admin.command("hello")
    sharded = hello.get("msg") == "isdbgrid"
    done: list[str] = []
    for name, collection in COLLECTIONS.items():
        if sharded and collection.shard_key:
            await _shard(database, name, collection.shard_key)
        if collection.indexes:
            await database[name].create_indexes(list(collection.indexes))
        done.append(name)
    return done


async def _shard(database: AsyncDatabase[Document], name: str, key: str) -> None:
    namespace = f"{database.name}.{name}"
    listed = await database.client["config"]["collections"].find_one({"_id": namespace})
    if listed is None or listed.get("dropped"):
        await database.client.admin.command("shardCollection", namespace, key={key: "hashed"})
