"""Likes and comments."""

import contextlib
import logging
from collections.abc import Sequence

import msgspec

from reference_app.clock import next_version, now_ms
from reference_app.domain.cursors import Position
from reference_app.domain.ids import id_for
from reference_app.domain.likes import LikeEvent, LikeShard
from reference_app.domain.model import Comment
from reference_app.errors import StoreError
from reference_app.service.coalesce import LocalCache
from reference_app.service.people import People
from reference_app.service.posting import Posting
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.views import post_body

log = logging.getLogger(__name__)


class Liking:
    def __init__(self, stores: Stores, settings: Settings, posting: Posting) -> None:
        self._stores, self._posting = stores, posting
        self._counts: LocalCache[str, int] = LocalCache(self._count, ttl_s=settings.local_cache_s)

    async def wish(self, post_id: str, user_id: str, *, liked: bool) -> None:
        """Accepted once Kafka has it; no other store is asked."""
        await self._stores.sink.send_like(LikeEvent(post_id, user_id, liked, next_version()))

    async def count(self, post_id: str) -> int:
        return await self._counts.get(post_id)

    async def _count(self, post_id: str) -> int:
        with contextlib.suppress(StoreError):
            held = await self._stores.counters.like_count(post_id)
            if held is not None:
                return held
        return (await self._posting.post(post_id)).like_count

    async def apply(self, events: Sequence[LikeEvent]) -> None:
        """A batch from Kafka: into the truth, then where readers look. Raises StoreError if the first failed;
        what fails after that stays owed, and the write-back brings it up."""
        shards = await self._stores.likes.apply(events)
        with contextlib.suppress(StoreError):
            await self._show(shards)

    async def _show(self, shards: Sequence[LikeShard]) -> None:
        for post_id in await self._stores.counters.put(shards):
            await self._stores.counters.load(post_id, await self._stores.likes.shards(post_id))

    async def write_back(self, post_id: str) -> None:
        """Bring a post and its caches up to its shards. Raises StoreError; then it is still owed."""
        result = await self._stores.likes.write_back(post_id)
        if result is None:
            return
        post, shards = result
        await self._stores.counters.load(post_id, shards)
        await self._stores.bodies.put([(post.id, post.rev, post_body(post))])
        await self._stores.likes.paid(shards)


class Commenting:
    def __init__(self, stores: Stores, people: People, posting: Posting) -> None:
        self._stores, self._people, self._posting = stores, people, posting

    async def add(self, post_id: str, author: str, text: str, *, key: str | None) -> Comment:
        await self._people.caller(author)
        await self._posting.body(post_id)
        wanted = Comment(id_for("comment", f"{author}:{post_id}", key), post_id, author, text, now_ms())
        comment = await self._stores.comments.add(wanted)
        with contextlib.suppress(StoreError):
            await self._stores.bodies.drop_comments(post_id)
        return comment

    async def first_page(self, post_id: str, *, limit: int) -> list[Comment]:
        """The page that everybody asks for comes from the cache, which forgets it after a moment."""
        with contextlib.suppress(StoreError):
            held = await self._stores.bodies.comments(post_id)
            if held is not None:
                return msgspec.json.decode(held, type=list[Comment])
        comments = await self.page(post_id, after=None, limit=limit)
        with contextlib.suppress(StoreError):
            await self._stores.bodies.put_comments(post_id, msgspec.json.encode(comments))
        return comments

    async def page(self, post_id: str, *, after: Position | None, limit: int) -> list[Comment]:
        await self._posting.body(post_id)
        return await self._stores.comments.page(post_id, after=after, limit=limit)
