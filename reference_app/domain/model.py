"""The things the app keeps. Times are milliseconds since 1970; the API shows them as RFC 3339."""

from enum import StrEnum
from typing import NamedTuple

import msgspec


class User(msgspec.Struct, frozen=True):
    """`pulled`: readers merge this author's posts at read. Once set it stays, so that nothing that was
    posted while its author was a celebrity is lost when that is over."""

    id: str
    name: str
    created_ms: int
    follower_count: int = 0
    following_count: int = 0
    is_celebrity: bool = False
    pulled: bool = False


class Edge(msgspec.Struct, frozen=True):
    """Somebody's following or follower, and since when."""

    user_id: str
    since_ms: int


class Relation(msgspec.Struct, frozen=True):
    """The state of one follower -> followee pair. `rev` grows with every change of it."""

    follower_id: str
    followee_id: str
    active: bool
    rev: int


class Post(msgspec.Struct, frozen=True):
    """`rev` grows with every change, so that an older copy never replaces a newer one."""

    id: str
    author_id: str
    text: str
    created_ms: int
    tags: tuple[str, ...] = ()
    celebrity: bool = False
    media_id: str | None = None
    like_count: int = 0
    comment_count: int = 0
    recent_likers: tuple[str, ...] = ()
    rev: int = 0


class Announced(NamedTuple):
    """A post that its maker has told of; it was stored at `stored_ms` or before."""

    post: Post
    stored_ms: int


class Comment(msgspec.Struct, frozen=True):
    id: str
    post_id: str
    author_id: str
    text: str
    created_ms: int


class MediaStatus(StrEnum):
    PENDING = "pending"
    READY = "ready"


class Media(msgspec.Struct, frozen=True):
    id: str
    owner_id: str
    content_type: str
    created_ms: int
    status: MediaStatus = MediaStatus.PENDING
