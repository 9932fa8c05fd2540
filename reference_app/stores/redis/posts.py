"""Posts and like counters in Redis.

post:{id}               HASH    `json` (the post as it is sent) and its `rev`
comments:{post}         string  the first page of comments as it is sent, for a moment
likes:{post}:{0..99}    string  shards of the like counter; their sum is the count
likes:{post}:versions   HASH    shard -> version of what is held; there while the shards are complete
"""

from collections.abc import Sequence
from typing import Final

from reference_app.domain.likes import LikeShard
from reference_app.stores.redis.feeds import evaluate
from reference_app.stores.redis.link import Argument, RedisLink
from reference_app.stores.redis.scripts import PUT_POST, PUT_SHARDS

_POST_LIFE_S: Final = 24 * 3600
_COUNTER_LIFE_S: Final = 24 * 3600
_COMMENTS_LIFE_MS: Final = 2000


class RedisPosts:
    """Implements `PostCache`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def get(self, ids: Sequence[str]) -> list[bytes | None]:
        return await self._link.pipeline([("HGET", f"post:{post_id}", "json") for post_id in ids])

    async def put(self, posts: Sequence[tuple[str, int, bytes]]) -> None:
        if posts:
            flat: list[Argument] = [part for _, rev, body in posts for part in (rev, body)]
            keys = [f"post:{post_id}" for post_id, _, _ in posts]
            await evaluate(self._link, PUT_POST, keys, (_POST_LIFE_S, *flat))

    async def comments(self, post_id: str) -> bytes | None:
        body: bytes | None = await self._link.call("GET", f"comments:{post_id}")
        return body

    async def put_comments(self, post_id: str, body: bytes) -> None:
        await self._link.call("SET", f"comments:{post_id}", body, "PX", _COMMENTS_LIFE_MS)

    async def drop_comments(self, post_id: str) -> None:
        await self._link.call("DEL", f"comments:{post_id}")


class RedisCounters:
    """Implements `CounterCache`."""

    def __init__(self, link: RedisLink, *, shard_count: int) -> None:
        self._link, self._shard_count = link, shard_count

    async def like_count(self, post_id: str) -> int | None:
        keys = [f"likes:{post_id}:{shard}" for shard in range(self._shard_count)]
        values = await self._link.call("MGET", *keys)
        held = [int(value) for value in values if value is not None]
        return sum(held) if held else None

    async def put(self, shards: Sequence[LikeShard]) -> list[str]:
        by_post: dict[str, list[LikeShard]] = {}
        for shard in shards:
            by_post.setdefault(shard.post_id, []).append(shard)
        return [post for post, some in by_post.items() if not await self._put(post, some, load=0)]

    async def load(self, post_id: str, shards: Sequence[LikeShard]) -> None:
        await self._put(post_id, shards, load=1)

    async def _put(self, post_id: str, shards: Sequence[LikeShard], *, load: int) -> bool:
        keys = [f"likes:{post_id}:versions", *(f"likes:{post_id}:{shard.shard}" for shard in shards)]
        flat = [part for shard in shards for part in (shard.shard, shard.version, shard.count)]
        return bool(await evaluate(self._link, PUT_SHARDS, keys, (load, _COUNTER_LIFE_S, *flat)))
