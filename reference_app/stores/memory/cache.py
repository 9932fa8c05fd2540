"""Feeds, posts and counters in memory, with everything that a cache may do: vanish, and come back empty."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reference_app.clock import now_ms
from reference_app.domain.feed import Entry
from reference_app.domain.likes import LikeShard
from reference_app.stores.memory.outage import Outages
from reference_app.stores.ports import FeedSlice


@dataclass
class Cache:
    """What a cache server would hold."""

    outages: Outages = field(default_factory=Outages)
    clock: Callable[[], int] = now_ms
    began_ms: int = 0
    epoch: str = field(default_factory=lambda: uuid.uuid4().hex)
    feeds: dict[str, dict[str, int]] = field(default_factory=dict)
    built: set[str] = field(default_factory=set)
    pulled: dict[str, set[str]] = field(default_factory=dict)
    claims: set[str] = field(default_factory=set)
    removals: Counter[str] = field(default_factory=Counter)
    celebrities: dict[str, dict[str, int]] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    bodies: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    comments: dict[str, bytes] = field(default_factory=dict)
    shards: dict[str, dict[int, LikeShard]] = field(default_factory=dict)

    def check(self) -> None:
        self.outages.check("redis")

    def flush(self) -> None:
        fresh = Cache(self.outages, self.clock, began_ms=self.clock())
        self.__dict__.update(fresh.__dict__)


class MemoryFeeds:
    """Implements `FeedCache`."""

    def __init__(self, cache: Cache, *, size: int) -> None:
        self._cache, self._size = cache, size

    async def began_ms(self) -> int:
        self._cache.check()
        return self._cache.began_ms

    async def read(self, user: str, *, after: Entry | None, limit: int) -> FeedSlice:
        self._cache.check()
        if user not in self._cache.built:
            return FeedSlice([], None)
        entries = _newest_first(self._cache.feeds.get(user, {}))
        older = [entry for entry in entries if after is None or entry < after]
        return FeedSlice(older[:limit], sorted(self._cache.pulled.get(user, ())))

    async def epoch(self) -> str:
        self._cache.check()
        return self._cache.epoch

    async def revision(self, user: str) -> str:
        self._cache.check()
        return f"{self._cache.epoch}/{self._cache.removals[user]}"

    async def build(
        self, user: str, entries: Sequence[Entry], pulled: Sequence[str], *, revision: str
    ) -> bool:
        self._cache.claims.discard(user)
        if revision != await self.revision(user):
            return False
        await self.add(user, entries)
        self._cache.pulled.setdefault(user, set()).update(pulled)
        self._cache.built.add(user)
        return True

    async def begin_build(self, user: str) -> bool:
        self._cache.check()
        if user in self._cache.claims:
            return False
        self._cache.claims.add(user)
        return True

    async def push(self, entry: Entry, users: Sequence[str]) -> None:
        for user in users:
            await self.add(user, [entry])

    async def add(self, user: str, entries: Sequence[Entry]) -> None:
        self._cache.check()
        feed = self._cache.feeds.setdefault(user, {})
        feed.update({entry.id: entry.ms for entry in entries})
        for entry in _newest_first(feed)[self._size :]:
            del feed[entry.id]

    async def hide(self, users: Sequence[str], post_ids: Sequence[str]) -> None:
        self._cache.check()
        self._cache.removals.update(users)
        for user in users:
            for post_id in post_ids:
                self._cache.feeds.get(user, {}).pop(post_id, None)

    async def pull(self, author: str, users: Sequence[str]) -> None:
        self._cache.check()
        for user in users:
            self._cache.pulled.setdefault(user, set()).add(author)

    async def unpull(self, author: str, users: Sequence[str]) -> None:
        self._cache.check()
        self._cache.removals.update(users)
        for user in users:
            self._cache.pulled.get(user, set()).discard(author)

    async def celebrity_posts(self, author: str) -> list[Entry] | None:
        self._cache.check()
        if author not in self._cache.loaded:
            return None
        return _newest_first(self._cache.celebrities.get(author, {}))

    async def publish(self, author: str, entry: Entry) -> None:
        self._cache.check()
        self._cache.celebrities.setdefault(author, {})[entry.id] = entry.ms

    async def load_celebrity(self, author: str, entries: Sequence[Entry], *, epoch: str) -> bool:
        self._cache.check()
        if epoch != self._cache.epoch:
            return False
        self._cache.celebrities.setdefault(author, {}).update({entry.id: entry.ms for entry in entries})
        self._cache.loaded.add(author)
        return True


class MemoryBodies:
    """Implements `PostCache`."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def get(self, ids: Sequence[str]) -> list[bytes | None]:
        self._cache.check()
        return [self._cache.bodies[one][1] if one in self._cache.bodies else None for one in ids]

    async def put(self, posts: Sequence[tuple[str, int, bytes]]) -> None:
        self._cache.check()
        for post_id, rev, body in posts:
            if rev >= self._cache.bodies.get(post_id, (rev, b""))[0]:
                self._cache.bodies[post_id] = (rev, body)

    async def comments(self, post_id: str) -> bytes | None:
        self._cache.check()
        return self._cache.comments.get(post_id)

    async def put_comments(self, post_id: str, body: bytes) -> None:
        self._cache.check()
        self._cache.comments[post_id] = body

    async def drop_comments(self, post_id: str) -> None:
        self._cache.check()
        self._cache.comments.pop(post_id, None)


class MemoryCounters:
    """Implements `CounterCache`."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def like_count(self, post_id: str) -> int | None:
        self._cache.check()
        held = self._cache.shards.get(post_id)
        return sum(shard.count for shard in held.values()) if held else None

    async def put(self, shards: Sequence[LikeShard]) -> list[str]:
        self._cache.check()
        for shard in shards:
            if shard.post_id in self._cache.shards:
                self._put(shard)
        return list({shard.post_id: None for shard in shards if shard.post_id not in self._cache.shards})

    async def load(self, post_id: str, shards: Sequence[LikeShard]) -> None:
        self._cache.check()
        self._cache.shards.setdefault(post_id, {})
        for shard in shards:
            self._put(shard)

    def _put(self, shard: LikeShard) -> None:
        held = self._cache.shards[shard.post_id]
        if shard.shard not in held or held[shard.shard].version <= shard.version:
            held[shard.shard] = shard


def _newest_first(feed: dict[str, int]) -> list[Entry]:
    return sorted((Entry(ms, post_id) for post_id, ms in feed.items()), reverse=True)
