"""Likes: what a batch of events changes, whatever was lost, repeated or reordered on its way.

A like is a row (one for each post and user) that carries the version of the newest event it has seen.
The count of a post is cut into shards by user. Rows and the shards that count them change in one
transaction, so a shard is always the number of its active rows; everything else (the sum on the post, the
copies in Redis) is an absolute value copied from shards, never an increment that could be lost or repeated.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

RECENT: Final = 3
"""So many of the newest likers are embedded."""


class LikeEvent(msgspec.Struct, frozen=True):
    """Somebody's wish: `liked` or not any more. `at` is its version, microseconds since 1970."""

    post_id: str
    user_id: str
    liked: bool
    at: int


class LikeRow(msgspec.Struct, frozen=True):
    """What is known of one user's like. `at`: the version of the newest event applied."""

    post_id: str
    user_id: str
    active: bool
    at: int


class Liker(msgspec.Struct, frozen=True):
    user_id: str
    at: int


class LikeShard(msgspec.Struct, frozen=True):
    """A part of a post's likes. `version` grows with every change; `recent` holds its newest likers."""

    post_id: str
    shard: int
    count: int = 0
    version: int = 0
    recent: tuple[Liker, ...] = ()


RowKey = tuple[str, str]
ShardKey = tuple[str, int]


def shard_of(user_id: str, shards: int) -> int:
    """Which of a post's shards counts this user: the same in every process, for ever."""
    return zlib.crc32(user_id.encode()) % shards


def newest_of(events: Iterable[LikeEvent]) -> dict[RowKey, LikeEvent]:
    """The only event of each row that matters. Of two with one version the first wins."""
    newest: dict[RowKey, LikeEvent] = {}
    for event in events:
        key = (event.post_id, event.user_id)
        known = newest.get(key)
        if known is None or event.at > known.at:
            newest[key] = event
    return newest


def apply(
    events: Mapping[RowKey, LikeEvent],
    rows: Mapping[RowKey, LikeRow],
    shards: Mapping[ShardKey, LikeShard],
    *,
    shard_count: int,
) -> tuple[list[LikeRow], list[LikeShard]]:
    """The rows and shards to write, as absolute values; both empty if the events change nothing.

    `rows` and `shards` are what the store holds now for the keys concerned; what is missing is new.
    """
    new_rows: list[LikeRow] = []
    new_shards: dict[ShardKey, LikeShard] = {}
    for key, event in events.items():
        row = rows.get(key)
        if row is not None and event.at <= row.at:
            continue
        new_rows.append(LikeRow(event.post_id, event.user_id, event.liked, event.at))
        if event.liked == (row is not None and row.active):
            continue
        place = (event.post_id, shard_of(event.user_id, shard_count))
        shard = new_shards.get(place) or shards.get(place) or LikeShard(*place)
        new_shards[place] = _moved(shard, event)
    return new_rows, [
        msgspec.structs.replace(shard, version=(shards[key].version if key in shards else 0) + 1)
        for key, shard in new_shards.items()
    ]


def _moved(shard: LikeShard, event: LikeEvent) -> LikeShard:
    others = [liker for liker in shard.recent if liker.user_id != event.user_id]
    recent = newest_likers([*others, Liker(event.user_id, event.at)]) if event.liked else tuple(others)
    return msgspec.structs.replace(shard, count=shard.count + (1 if event.liked else -1), recent=recent)


def newest_likers(likers: Iterable[Liker]) -> tuple[Liker, ...]:
    """The newest few of several shards' recent likers, newest first."""
    return tuple(sorted(likers, key=lambda liker: (-liker.at, liker.user_id))[:RECENT])
