"""Reads the sharded like counters from Redis (docs/data-model.md)."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, cast

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from results.audit.errors import ReadError
from results.audit.state import LikeShards
from results.urls import shown

_SHARD: Final = re.compile(rb"likes:\{?([^:{}]+)\}?:\d+")
_PAGE: Final = 1000


def like_shards(url: str) -> Iterator[LikeShards]:
    """The sum of the shards of every post that has some."""
    client = redis.Redis.from_url(
        url, socket_timeout=5, socket_connect_timeout=3, retry=Retry(ConstantBackoff(0.5), 3)
    )
    try:
        totals = _totals(client)
    except redis.RedisError as error:
        reason = shown(str(error))
        raise ReadError(
            f"could not read like counters from Redis at {shown(url)} ({reason}): is the stack still up?"
        ) from error
    finally:
        client.close()
    return (LikeShards(post, total) for post, total in totals.items())


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
