"""Making, showing and changing posts."""

import contextlib
from collections.abc import Sequence

from reference_app.clock import now_ms
from reference_app.domain.ids import id_for
from reference_app.domain.model import Post
from reference_app.errors import NotFoundError, RequestError, StoreError
from reference_app.service.people import People
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.views import post_body


class Posting:
    def __init__(self, stores: Stores, settings: Settings, people: People) -> None:
        self._stores, self._settings, self._people = stores, settings, people

    async def publish(
        self, author: str, text: str, *, tags: Sequence[str], media_id: str | None, key: str | None
    ) -> Post:
        """Stored with the mark that its fan-out is owed, then announced. Under one key: one post."""
        user = await self._people.caller(author)
        if media_id is not None:
            media = await self._stores.media.get(media_id)
            if media is None or media.owner_id != author:
                raise RequestError("There is no such upload of yours.", field="mediaId")
        celebrity = self._settings.strategy == "hybrid" and user.is_celebrity
        wanted = Post(
            id_for("post", author, key), author, text, now_ms(), tuple(tags), celebrity, media_id=media_id
        )
        # While nobody can be told of it, the sweeper need not wait for whoever is told.
        grace_ms = int(self._settings.outbox_grace_s * 1000) if self._stores.sink.is_usable else 0
        post = await self._stores.posts.add(wanted, due_ms=wanted.created_ms + grace_ms)
        with contextlib.suppress(StoreError):
            await self._stores.bodies.put([(post.id, post.rev, post_body(post))])
        self._stores.sink.announce_post(post)
        return post

    async def body(self, post_id: str) -> bytes:
        """A post as JSON. Raises NotFoundError."""
        with contextlib.suppress(StoreError):
            (body,) = await self._stores.bodies.get([post_id])
            if body is not None:
                return body
        post = await self.post(post_id)
        body = post_body(post)
        with contextlib.suppress(StoreError):
            await self._stores.bodies.put([(post.id, post.rev, body)])
        return body

    async def show_changed(self, *, limit: int) -> None:
        """Bring the cache up to posts that have changed. Raises StoreError; then they still owe it."""
        posts = await self._stores.posts.body_owed(limit=limit)
        await self._stores.bodies.put([(post.id, post.rev, post_body(post)) for post in posts])
        await self._stores.posts.body_paid(posts)

    async def post(self, post_id: str) -> Post:
        found = await self._stores.posts.get([post_id])
        if not found:
            raise NotFoundError(f"There is no post {post_id}.", field="id")
        return found[0]
