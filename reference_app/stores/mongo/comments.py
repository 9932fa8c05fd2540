"""Comments and media in MongoDB."""

from collections import Counter
from collections.abc import Sequence

from pymongo import UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession

from reference_app.domain.cursors import Position
from reference_app.domain.model import Comment, Media, MediaStatus
from reference_app.stores.mongo.documents import (
    comment_document,
    comment_of,
    media_document,
    media_of,
)
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.pages import past
from reference_app.stores.mongo.schema import Document


class MongoComments:
    """Implements `CommentStore`. `countOwed` is the count that a comment owes its post."""

    def __init__(self, link: MongoLink) -> None:
        self._link = link
        self._comments, self._posts = link.db["comments"], link.db["posts"]
        self._near = link.primary_preferred["comments"]

    async def add(self, comment: Comment) -> Comment:
        found = await self._link.insert(self._comments, comment_document(comment), key=("_id", "postId"))
        return comment_of(found) if found else comment

    async def page(self, post_id: str, *, after: Position | None, limit: int) -> list[Comment]:
        query: Document = {"postId": post_id}
        if after is not None:
            query |= past("createdAt", "_id", after.ms, after.id, newest_first=True)
        newest = self._near.find(query).sort([("createdAt", -1), ("_id", -1)]).limit(limit)
        return [comment_of(document) for document in await self._link.read(newest.to_list())]

    async def settle_counts(self, *, limit: int) -> int:
        if not await self._link.read(self._comments.find_one({"countOwed": True}, {"_id": 1})):
            return 0

        async def settle(session: AsyncClientSession) -> int:
            owed = self._comments.find({"countOwed": True}, {"postId": 1}, session=session).limit(limit)
            found = await owed.to_list()
            counts = Counter(document["postId"] for document in found)
            if counts:
                mine = {
                    "_id": {"$in": [document["_id"] for document in found]},
                    "postId": {"$in": list(counts)},
                }
                await self._comments.update_many(mine, {"$unset": {"countOwed": ""}}, session=session)
                changes = [_count(post, count) for post, count in counts.items()]
                await self._posts.bulk_write(changes, ordered=False, session=session)
            return len(found)

        return await self._link.transaction(settle)


def _count(post_id: str, comments: int) -> UpdateOne:
    change = {"$inc": {"commentCount": comments, "rev": 1}, "$set": {"bodyOwed": True}}
    return UpdateOne({"_id": post_id}, change)


class MongoMedia:
    """Implements `MediaStore`."""

    def __init__(self, link: MongoLink) -> None:
        self._link, self._media = link, link.db["media"]
        self._near = link.primary_preferred["media"]

    async def add(self, media: Media) -> Media:
        found = await self._link.insert(self._media, media_document(media))
        return media_of(found) if found else media

    async def get(self, media_id: str) -> Media | None:
        found = await self._link.read(self._near.find_one({"_id": media_id}))
        return media_of(found) if found else None

    async def pending(self, *, limit: int) -> list[str]:
        waiting = self._media.find({"status": MediaStatus.PENDING.value}, {"_id": 1}).limit(limit)
        return [document["_id"] for document in await self._link.read(waiting.to_list())]

    async def set_ready(self, ids: Sequence[str]) -> None:
        ready = {"$set": {"status": MediaStatus.READY.value}}
        await self._link.write(self._media.update_many({"_id": {"$in": list(ids)}}, ready))
