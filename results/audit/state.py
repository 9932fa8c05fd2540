"""What the stores hold after a run, as the invariants see it: rows of a few fields, read as often as wanted.

Times are milliseconds since the epoch, by the app's clock. Every field of `FinalState` can be iterated
more than once: lists in tests, files of rows after a real run (`results.audit.spool`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec


class UserRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    id: str
    followers: int
    following: int


class FollowRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A relationship; `changed_ms` is when its status last moved."""

    follower: str
    followee: str
    active: bool
    changed_ms: int = 0


class PostRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    id: str
    author: str
    created_ms: int
    likes: int = 0
    comments: int = 0


class LikeRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    post: str
    user: str
    active: bool


class CommentRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    id: str
    post: str
    author: str
    created_ms: int


class LikeShards(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The sum of a post's like counter in Redis, where it has one."""

    post: str
    total: int


class FeedItem(msgspec.Struct, array_like=True, frozen=True, gc=False):
    id: str
    author: str
    created_ms: int


class FeedWalk(msgspec.Struct, array_like=True, frozen=True):
    """A user's feed, page after page. `owners` are the user ids that the pages said they belong to;
    `complete` says that the walk came to the last page."""

    user: str
    owners: list[str]
    items: list[FeedItem]
    complete: bool = True


class ApiCount(msgspec.Struct, array_like=True, frozen=True):
    """A number as the API shows it: `what` is "likes", "followers" or "following", or one of the latter
    after "listed": then it is how many a walk through all pages came past."""

    what: str
    id: str
    count: int


@dataclass
class FinalState:
    """Everything that an audit has read."""

    users: Iterable[UserRow] = ()
    follows: Iterable[FollowRow] = ()
    posts: Iterable[PostRow] = ()
    likes: Iterable[LikeRow] = ()
    comments: Iterable[CommentRow] = ()
    shards: Iterable[LikeShards] = ()
    feeds: Iterable[FeedWalk] = ()
    api_counts: Iterable[ApiCount] = ()
