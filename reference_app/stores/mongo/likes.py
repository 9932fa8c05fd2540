"""Likes in MongoDB: rows in `likes`, their counts by shard in `likeCounts`, the sum on the post.

Every change is one transaction over what it read, so whoever else touched the same rows or shards makes
it start again: two workers that hold the same partition for a moment cannot both count a like.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from pymongo import UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession

from reference_app.clock import utc
from reference_app.domain import likes as rules
from reference_app.domain.ids import pair_id
from reference_app.domain.likes import LikeEvent, LikeRow, LikeShard
from reference_app.domain.model import Post
from reference_app.stores.mongo.documents import (
    like_row_id,
    like_row_of,
    post_of,
    shard_id,
    shard_of_document,
    status,
)
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.schema import Document

_KNOWN_POSTS: Final = 50_000


class MongoLikes:
    """Implements `LikeStore`."""

    def __init__(self, link: MongoLink, *, shard_count: int) -> None:
        self._link, self._shard_count = link, shard_count
        self._rows, self._counts, self._posts = link.db["likes"], link.db["likeCounts"], link.db["posts"]
        self._near_counts = link.primary_preferred["likeCounts"]
        self._known_posts: set[str] = set()

    async def apply(self, events: Iterable[LikeEvent]) -> list[LikeShard]:
        newest = rules.newest_of(events)
        await self._learn_posts({event.post_id for event in newest.values()})
        wanted = {key: event for key, event in newest.items() if event.post_id in self._known_posts}
        if not wanted:
            return []
        return await self._link.transaction(lambda session: self._apply(wanted, session))

    async def _apply(
        self, events: dict[rules.RowKey, LikeEvent], session: AsyncClientSession
    ) -> list[LikeShard]:
        row_ids = [pair_id(*key) for key in events]
        on_posts = list(dict.fromkeys(post for post, _ in events))
        held = {"_id": {"$in": row_ids}, "postId": {"$in": on_posts}}
        rows = await self._rows.find(held, session=session).to_list()
        places = {(post, rules.shard_of(user, self._shard_count)) for post, user in events}
        shard_ids = [shard_id(*place) for place in places]
        shards = await self._counts.find({"_id": {"$in": shard_ids}}, session=session).to_list()
        new_rows, new_shards = rules.apply(
            events,
            {(row.post_id, row.user_id): row for row in map(like_row_of, rows)},
            {(shard.post_id, shard.shard): shard for shard in map(shard_of_document, shards)},
            shard_count=self._shard_count,
        )
        if new_rows:
            await self._rows.bulk_write(list(map(_write_row, new_rows)), ordered=False, session=session)
        if new_shards:
            writes = list(map(_write_shard, new_shards))
            await self._counts.bulk_write(writes, ordered=False, session=session)
        return new_shards

    async def _learn_posts(self, post_ids: set[str]) -> None:
        """Posts are never deleted, so one that was seen need not be looked for again."""
        new = list(post_ids - self._known_posts)
        if not new:
            return
        if len(self._known_posts) > _KNOWN_POSTS:
            self._known_posts.clear()
            new = list(post_ids)
        found = await self._link.read(self._posts.find({"_id": {"$in": new}}, {"_id": 1}).to_list())
        self._known_posts.update(document["_id"] for document in found)

    async def shards(self, post_id: str) -> list[LikeShard]:
        found = await self._link.read(self._near_counts.find({"postId": post_id}).to_list())
        return list(map(shard_of_document, found))

    async def owed(self, *, limit: int) -> list[str]:
        marked = self._counts.find({"owed": True}, {"_id": 0, "postId": 1}).limit(limit * self._shard_count)
        found = await self._link.read(marked.to_list())
        return list(dict.fromkeys(document["postId"] for document in found))[:limit]

    async def write_back(self, post_id: str) -> tuple[Post, list[LikeShard]] | None:
        async def bring_up(session: AsyncClientSession) -> tuple[Post, list[LikeShard]] | None:
            found = await self._counts.find({"postId": post_id}, session=session).to_list()
            document = await self._posts.find_one({"_id": post_id}, session=session)
            if document is None:
                return None
            shards, post = list(map(shard_of_document, found)), post_of(document)
            count = sum(shard.count for shard in shards)
            likers = rules.newest_likers(liker for shard in shards for liker in shard.recent)
            recent = tuple(liker.user_id for liker in likers)
            if (post.like_count, post.recent_likers) == (count, recent):
                return post, shards
            post = msgspec.structs.replace(post, like_count=count, recent_likers=recent, rev=post.rev + 1)
            change = {"likeCount": count, "recentLikers": list(recent), "rev": post.rev}
            await self._posts.update_one({"_id": post_id}, {"$set": change}, session=session)
            return post, shards

        return await self._link.transaction(bring_up)

    async def paid(self, shards: Sequence[LikeShard]) -> None:
        marks = [
            UpdateOne(
                {"_id": shard_id(shard.post_id, shard.shard), "version": shard.version},
                {"$unset": {"owed": ""}},
            )
            for shard in shards
        ]
        if marks:
            await self._link.write(self._counts.bulk_write(marks, ordered=False))


def _write_row(row: LikeRow) -> UpdateOne:
    return UpdateOne(
        {"_id": like_row_id(row), "postId": row.post_id},
        {
            "$set": {"status": status(row.active), "at": row.at},
            "$setOnInsert": {"userId": row.user_id, "createdAt": utc(row.at // 1000)},
        },
        upsert=True,
    )


def _write_shard(shard: LikeShard) -> UpdateOne:
    recent: list[Document] = [{"userId": liker.user_id, "at": liker.at} for liker in shard.recent]
    return UpdateOne(
        {"_id": shard_id(shard.post_id, shard.shard)},
        {
            "$set": {"count": shard.count, "version": shard.version, "recent": recent, "owed": True},
            "$setOnInsert": {"postId": shard.post_id, "shard": shard.shard},
        },
        upsert=True,
    )
