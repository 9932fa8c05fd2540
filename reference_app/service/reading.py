"""Reading a feed, and what takes its place when something is out of order.

built       Redis alone: one round trip for entries and authors to merge, one for the posts
cold        built from Mongo first, once however many ask, so many a second and no more
no Redis    straight from Mongo, so many a second and no more; the answer says `stale`
no primary  as built; what is cold comes straight from a secondary, and is not kept: it may be an old answer
no Mongo    as built; only what Redis does not hold fails
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from reference_app.domain.feed import Entry, page_of
from reference_app.domain.model import Post
from reference_app.domain.token_bucket import TokenBucket
from reference_app.errors import ShedError, StoreError
from reference_app.service.coalesce import LocalCache, SingleFlight
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.stores.ports import FeedSlice
from reference_app.views import post_body

FOLLOWEES: Final = 5000
"""So many of somebody's newest followings make up a feed."""
_BUILDS: Final = 3
"""A feed is built again if the cache was flushed meanwhile, or an author unfollowed."""
_CLAIM_WAIT_S: Final = 0.6
_CLAIM_POLL_S: Final = 0.02


class FeedPage(NamedTuple):
    """`posts` are JSON; `last` is the position of the last one if there are more."""

    posts: list[bytes]
    last: Entry | None
    stale: bool


class FeedReader:
    def __init__(self, stores: Stores, settings: Settings) -> None:
        self._stores, self._settings = stores, settings
        self._fallback = TokenBucket(settings.fallback_rps, settings.fallback_rps / 4)
        self._rebuilds = TokenBucket(settings.rebuild_rps)
        self._builds: SingleFlight[str, None] = SingleFlight()
        self._celebrities: LocalCache[str, list[Entry]] = LocalCache(
            self._load_celebrity, ttl_s=settings.local_cache_s
        )
        self.shed = 0

    async def page(self, user: str, *, after: Entry | None, limit: int) -> FeedPage:
        """Raises ShedError, StoreError."""
        if self._settings.strategy == "pull":
            return await self._from_truth(user, after=after, limit=limit, stale=False)
        try:
            return await self._from_cache(user, after=after, limit=limit)
        except StoreError as error:
            if error.store != "redis":
                raise
        except ShedError:
            pass
        if not self._fallback.take(time.monotonic()):
            self.shed += 1
            raise ShedError("The feed cache is not available, and all that may bypass it do so already.")
        return await self._from_truth(user, after=after, limit=limit, stale=True)

    async def _from_cache(self, user: str, *, after: Entry | None, limit: int) -> FeedPage:
        found = await self._stores.feeds.read(user, after=after, limit=limit + 1)
        if found.pulled is None:
            found = await self._built(user, after=after, limit=limit + 1)
        sources: list[Sequence[Entry]] = [found.entries]
        if found.pulled:
            sources += [await self._celebrities.get(author) for author in found.pulled]
        entries, more = page_of(sources, after=after, limit=limit)
        posts = await self._bodies([entry.id for entry in entries])
        return FeedPage(posts, entries[-1] if more else None, stale=False)

    async def _from_truth(self, user: str, *, after: Entry | None, limit: int, stale: bool) -> FeedPage:
        authors = await self._stores.graph.followees(user, limit=FOLLOWEES)
        found = await self._stores.posts.newest(authors, after=after, limit=limit + 1) if authors else []
        shown = found[:limit]
        last = Entry(shown[-1].created_ms, shown[-1].id) if len(found) > limit else None
        return FeedPage([post_body(post) for post in shown], last, stale)

    async def _bodies(self, ids: list[str]) -> list[bytes]:
        held = await self._stores.bodies.get(ids)
        if None not in held:
            return [body for body in held if body is not None]
        missing = [post_id for post_id, body in zip(ids, held, strict=True) if body is None]
        found = {post.id: post for post in await self._stores.posts.get(missing)}
        await self._remember(list(found.values()))
        bodies = (
            body if body is not None else post_body(found[post_id]) if post_id in found else None
            for post_id, body in zip(ids, held, strict=True)
        )
        return [body for body in bodies if body is not None]

    async def _remember(self, posts: list[Post]) -> None:
        await self._stores.bodies.put([(post.id, post.rev, post_body(post)) for post in posts])

    # -- building --------------------------------------------------------------------------

    async def _built(self, user: str, *, after: Entry | None, limit: int) -> FeedSlice:
        for _ in range(_BUILDS):
            await self._builds.run(user, lambda: self._build(user))
            found = await self._stores.feeds.read(user, after=after, limit=limit)
            if found.pulled is not None:
                return found
        raise ShedError("The feed could not be built.")

    async def _build(self, user: str) -> None:
        """Build a feed, unless another process is at it and gets it done."""
        primary = self._stores.graph.primary()
        if primary is None:
            raise ShedError("There is no primary to build the feed from.")
        if not await self._stores.feeds.begin_build(user) and await self._built_by_other(user):
            return
        if not self._rebuilds.take(time.monotonic()):
            raise ShedError("Too many feeds have to be built at the moment.")
        revision = await self._stores.feeds.revision(user)
        authors = await self._stores.graph.followees(user, limit=FOLLOWEES)
        pulled: list[str] = []
        if self._settings.strategy == "hybrid" and authors:
            pulled = await self._stores.graph.pulled_among(authors)
        apart = set(pulled)
        pushed = [author for author in authors if author not in apart]
        size = self._settings.feed_size
        entries = await self._stores.posts.entries(pushed, limit=size) if pushed else []
        if self._stores.graph.primary() == primary:
            await self._stores.feeds.build(user, entries, pulled, revision=revision)

    async def _built_by_other(self, user: str) -> bool:
        deadline = time.monotonic() + _CLAIM_WAIT_S
        while time.monotonic() < deadline:
            await asyncio.sleep(_CLAIM_POLL_S)
            if (await self._stores.feeds.read(user, after=None, limit=1)).pulled is not None:
                return True
        return False

    async def _load_celebrity(self, author: str) -> list[Entry]:
        known = await self._stores.feeds.celebrity_posts(author)
        if known is not None:
            return known
        epoch, primary = await self._stores.feeds.epoch(), self._stores.graph.primary()
        entries = await self._stores.posts.entries([author], limit=self._settings.feed_size)
        if primary is not None and self._stores.graph.primary() == primary:
            await self._stores.feeds.load_celebrity(author, entries, epoch=epoch)
        return entries
