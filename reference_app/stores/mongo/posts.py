"""Posts in MongoDB. `outbox: "pending"` is the fan-out a post owes; the sweeper's from `outboxDueAt` on."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from pymongo import UpdateOne

from reference_app.clock import utc
from reference_app.domain.feed import Entry
from reference_app.domain.model import Post
from reference_app.stores.mongo.documents import PENDING, ms_of, post_document, post_of
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.pages import past
from reference_app.stores.mongo.schema import Document

AUTHORS_AT_ONCE: Final = 100
"""MongoDB merges the index scans of so many authors without sorting; more are asked for in parts."""
_MARKS: Final = (
    ("posts", {"outbox": PENDING}),
    ("posts", {"bodyOwed": True}),
    ("follows", {"feedOwed": True}),
    ("follows", {"countOwed": True}),
    ("likeCounts", {"owed": True}),
    ("comments", {"countOwed": True}),
)


class MongoPosts:
    """Implements `PostStore`."""

    def __init__(self, link: MongoLink) -> None:
        self._link = link
        self._posts = link.db["posts"]
        self._near = link.primary_preferred["posts"]
        self._any = link.secondary_preferred["posts"]

    async def add(self, post: Post, *, due_ms: int | None = None) -> Post:
        due = utc(post.created_ms if due_ms is None else due_ms)
        found = await self._link.insert(self._posts, post_document(post) | {"outboxDueAt": due})
        return post_of(found) if found else post

    async def get(self, ids: Sequence[str]) -> list[Post]:
        found = await self._link.read(self._near.find({"_id": {"$in": list(ids)}}).to_list())
        by_id = {document["_id"]: post_of(document) for document in found}
        return [by_id[post_id] for post_id in dict.fromkeys(ids) if post_id in by_id]

    async def newest(self, authors: Sequence[str], *, after: Entry | None, limit: int) -> list[Post]:
        async def part(some: Sequence[str]) -> list[Document]:
            query: Document = {"authorId": {"$in": list(some)}}
            if after is not None:
                query |= past("createdAt", "_id", after.ms, after.id, newest_first=True)
            cursor = self._any.find(query).sort([("createdAt", -1), ("_id", -1)]).limit(limit)
            return await self._link.read(cursor.to_list())

        posts = [post_of(document) for document in await _in_parts(part, authors)]
        return sorted(posts, key=lambda post: (post.created_ms, post.id), reverse=True)[:limit]

    async def entries(self, authors: Sequence[str], *, limit: int) -> list[Entry]:
        async def part(some: Sequence[str]) -> list[Document]:
            cursor = self._near.find({"authorId": {"$in": list(some)}}, {"createdAt": 1})
            return await self._link.read(cursor.sort([("createdAt", -1), ("_id", -1)]).limit(limit).to_list())

        found = await _in_parts(part, authors)
        entries = [Entry(ms_of(document["createdAt"]), document["_id"]) for document in found]
        return sorted(entries, reverse=True)[:limit]

    async def fan_out_owed(self, *, now_ms: int, limit: int) -> list[Post]:
        query = {"outbox": PENDING, "outboxDueAt": {"$lte": utc(now_ms)}}
        oldest = self._posts.find(query).sort([("outboxDueAt", 1)]).limit(limit)
        return [post_of(document) for document in await self._link.read(oldest.to_list())]

    async def fan_out_owing(self, post_ids: Sequence[str]) -> set[str]:
        owing = self._posts.find({"_id": {"$in": list(post_ids)}, "outbox": PENDING}, {"_id": 1})
        return {document["_id"] for document in await self._link.read(owing.to_list())}

    async def fan_out_paid(self, post_ids: Sequence[str]) -> None:
        update = self._posts.update_many(
            {"_id": {"$in": list(post_ids)}}, {"$unset": {"outbox": "", "outboxDueAt": ""}}
        )
        await self._link.write(update)

    async def body_owed(self, *, limit: int) -> list[Post]:
        found = await self._link.read(self._posts.find({"bodyOwed": True}).limit(limit).to_list())
        return list(map(post_of, found))

    async def body_paid(self, posts: Sequence[Post]) -> None:
        marks = [UpdateOne({"_id": post.id, "rev": post.rev}, {"$unset": {"bodyOwed": ""}}) for post in posts]
        if marks:
            await self._link.write(self._posts.bulk_write(marks, ordered=False))

    async def owed(self) -> int:
        counts = [
            await self._link.read(self._link.db[name].count_documents(mark, limit=10_000))
            for name, mark in _MARKS
        ]
        return sum(counts)


async def _in_parts(
    part: Callable[[Sequence[str]], Awaitable[list[Document]]], authors: Sequence[str]
) -> list[Document]:
    """`part` for slices of the authors that MongoDB can merge without sorting, all at once."""
    slices = [authors[start : start + AUTHORS_AT_ONCE] for start in range(0, len(authors), AUTHORS_AT_ONCE)]
    return [document for found in await asyncio.gather(*map(part, slices)) for document in found]
