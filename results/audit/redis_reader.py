"""Reads like counters, and which feeds are held, from Redis (docs/data-model.md)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Final, cast

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from results.audit.errors import ReadError
from results.audit.state import LikeShards
from results.urls import shown

_SHARD: Final = re.compile(rb"likes:\{?([^:{}]+)\}?:\d+")
_PAGE: Final = 1000


class RedisReader:
    """One Redis, read only. Opens no connection before it is asked."""

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        self._client = redis.Redis.from_url(
            url, socket_timeout=5, socket_connect_timeout=3, retry=Retry(ConstantBackoff(0.5), 3)
        )

    def __enter__(self) -> "RedisReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def like_shards(self) -> Iterator[LikeShards]:
        """The sum of the shards of every post that has some. Raises ReadError."""
        with self._reading("like counters"):
            totals = _totals(self._client)
        return (LikeShards(post, total) for post, total in totals.items())

    def with_feed(self, users: Sequence[str]) -> set[str]:
        """Those whose feed is held in Redis: the others' would be built afresh when it is asked for,
        and say nothing about fan-out. Raises ReadError."""
        held: set[str] = set()
        with self._reading("feeds"):
            for start in range(0, len(users), _PAGE):
                page = users[start : start + _PAGE]
                pipeline = self._client.pipeline(transaction=False)
                for user in page:
                    pipeline.exists(f"feed:{user}")
                held.update(user for user, there in zip(page, pipeline.execute(), strict=True) if there)
        return held

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        try:
            yield
        except redis.RedisError as error:
            raise ReadError(
                f"could not read {what} from Redis at {self._shown} ({shown(str(error))}): "
                "is the stack still up?"
            ) from error


def _totals(client: "redis.Redis") -> Counter[str]:
    keys = sorted(_shard_keys(client))
    totals: Counter[str] = Counter()
    for start in range(0, len(keys), _PAGE):
        page = keys[start : start + _PAGE]
        values = cast(list[bytes | None], client.mget([key for key, _ in page]))
        for (_, post), value in zip(page, values, strict=True):
            totals[post] += int(value or 0)
    return totals


def _shard_keys(client: "redis.Redis") -> set[tuple[bytes, str]]:
    """(key, post id) of every shard; SCAN can name a key more than once."""
    found: set[tuple[bytes, str]] = set()
    cursor = 0
    while True:
        cursor, keys = cast(tuple[int, list[bytes]], client.scan(cursor, match="likes:*", count=_PAGE))
        found.update((key, match[1].decode()) for key in keys if (match := _SHARD.fullmatch(key)))
        if cursor == 0:
            return found
