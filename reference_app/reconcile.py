"""`reconcile`: are all counters what the rows say? Reads every row once, page by page, in index order.

Meant for a quiet system: what is still owed (likes on their way, relationships not yet counted) shows as
a difference until it is paid.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pymongo import UpdateOne

from reference_app.domain.likes import shard_of
from reference_app.settings import Settings
from reference_app.stores.mongo.documents import ACTIVE, shard_id
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.schema import Document

_PAGE: Final = 1000
_TIMEOUT_S: Final = 60.0
DIFFERENT: Final = 1


@dataclass
class Difference:
    """Where a counter is not what its rows say. `right` by id of the document that holds the counter."""

    what: str
    right: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)

    def compare(self, key: str, held: int, right: int) -> None:
        if held != right:
            self.right[key], self.held[key] = right, held

    def sentence(self) -> str:
        if not self.right:
            return f"{self.what}: right"
        key = next(iter(self.right))
        return (
            f"{self.what}: {len(self.right)} differ, first {key}: "
            f"{self.held[key]} held, {self.right[key]} counted"
        )


class Reconciler:
    def __init__(self, link: MongoLink, *, shard_count: int) -> None:
        self._link, self._shard_count = link, shard_count

    async def compare(self) -> list[Difference]:
        followers, following = await self._relationships()
        comments = Counter([row["postId"] async for row in self._rows("comments", {"postId": 1})])
        shards = await self._like_shards()
        likes: Counter[str] = Counter()
        for (post, _), count in shards.items():
            likes[post] += count
        differences = {
            name: Difference(name)
            for name in ("followerCount", "followingCount", "likeCount", "commentCount", "like shards")
        }
        async for user in self._rows("users", {"followerCount": 1, "followingCount": 1}):
            for name, counted in (("followerCount", followers), ("followingCount", following)):
                differences[name].compare(user["_id"], user[name], counted[user["_id"]])
        async for row in self._rows("posts", {"likeCount": 1, "commentCount": 1}):
            for name, counted in (("likeCount", likes), ("commentCount", comments)):
                differences[name].compare(row["_id"], row[name], counted[row["_id"]])
        async for shard in self._rows("likeCounts", {"postId": 1, "shard": 1, "count": 1}):
            counted_here = shards.pop((shard["postId"], shard["shard"]), 0)
            differences["like shards"].compare(shard["_id"], shard["count"], counted_here)
        for place, count in shards.items():
            differences["like shards"].compare(shard_id(*place), 0, count)
        return list(differences.values())

    async def repair(self, differences: list[Difference]) -> None:
        """Write the right numbers. The like shards owe their posts and the caches again afterwards."""
        for difference in differences:
            if difference.what == "like shards":
                shards = [_right_shard(key, right) for key, right in difference.right.items()]
                await self._write("likeCounts", shards)
                continue
            changes = [
                UpdateOne({"_id": key}, {"$set": {difference.what: right}, "$inc": {"rev": 1}})
                for key, right in difference.right.items()
            ]
            await self._write("users" if difference.what.startswith("follow") else "posts", changes)

    async def _relationships(self) -> tuple[Counter[str], Counter[str]]:
        followers: Counter[str] = Counter()
        following: Counter[str] = Counter()
        async for row in self._rows("follows", {"followerId": 1, "followeeId": 1, "status": 1}):
            if row["status"] == ACTIVE:
                followers[row["followeeId"]] += 1
                following[row["followerId"]] += 1
        return followers, following

    async def _like_shards(self) -> dict[tuple[str, int], int]:
        shards: defaultdict[tuple[str, int], int] = defaultdict(int)
        async for row in self._rows("likes", {"postId": 1, "userId": 1, "status": 1}):
            if row["status"] == ACTIVE:
                shards[row["postId"], shard_of(row["userId"], self._shard_count)] += 1
        return shards

    async def _rows(self, name: str, fields: Mapping[str, int]) -> AsyncIterator[Document]:
        """Every document of a collection, in the order of `_id`."""
        query: Document = {}
        while True:
            page = self._link.db[name].find(query, fields).sort([("_id", 1)]).limit(_PAGE)
            found = await self._link.read(page.to_list())
            for document in found:
                yield document
            if len(found) < _PAGE:
                return
            query = {"_id": {"$gt": found[-1]["_id"]}}

    async def _write(self, name: str, changes: list[UpdateOne]) -> None:
        for start in range(0, len(changes), _PAGE):
            some = changes[start : start + _PAGE]
            await self._link.write(self._link.db[name].bulk_write(some, ordered=False))


def _right_shard(key: str, count: int) -> UpdateOne:
    post_id, _, shard = key.rpartition(":")
    return UpdateOne(
        {"_id": key},
        {
            "$set": {"count": count, "owed": True, "postId": post_id, "shard": int(shard)},
            "$inc": {"version": 1},
        },
        upsert=True,
    )


async def reconcile(settings: Settings, *, repair: bool) -> int:
    """Prints one line for each kind of counter. 1 if something differs and was not repaired."""
    link = MongoLink(settings, timeout_s=_TIMEOUT_S)
    reconciler = Reconciler(link, shard_count=settings.like_shards)
    try:
        differences = await reconciler.compare()
        wrong = [difference for difference in differences if difference.right]
        if repair:
            await reconciler.repair(wrong)
    finally:
        await link.close()
    for difference in differences:
        done = " (repaired)" if repair and difference.right else ""
        sys.stdout.write(f"{difference.sentence()}{done}\n")
    return DIFFERENT if wrong and not repair else 0
