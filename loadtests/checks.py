"""What a user would notice in an answer: somebody else's feed, an item twice, the wrong order. Pure.

Each check returns what is wrong, in a few words without ids (they become row keys), or "".
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TypeAlias

import msgspec

Problem: TypeAlias = str


class Item(msgspec.Struct):
    """A post or comment as far as it is checked."""

    id: str
    createdAt: str  # noqa: N815  # the API's spelling
    authorId: str = ""  # noqa: N815
    postId: str = ""  # noqa: N815


class FeedPage(msgspec.Struct):
    userId: str  # noqa: N815
    items: list[Item]
    nextCursor: str | None = None  # noqa: N815
    stale: bool = False


class Page(msgspec.Struct):
    """A page of comments."""

    items: list[Item]
    nextCursor: str | None = None  # noqa: N815


class Edge(msgspec.Struct):
    userId: str  # noqa: N815
    since: str


class EdgePage(msgspec.Struct):
    items: list[Edge]
    nextCursor: str | None = None  # noqa: N815


class Count(msgspec.Struct):
    count: int


class User(msgspec.Struct):
    id: str
    followerCount: int  # noqa: N815
    followingCount: int  # noqa: N815


class Users(msgspec.Struct):
    items: list[User]


class Post(msgspec.Struct):
    id: str
    authorId: str  # noqa: N815
    likeCount: int  # noqa: N815
    text: str = ""


class Following(msgspec.Struct):
    following: bool
    changed: bool = True


class Relationship(msgspec.Struct):
    following: bool
    followedBy: bool  # noqa: N815
    mutual: bool


class Created(msgspec.Struct):
    """Anything that was made and has an id."""

    id: str


class Accepted(msgspec.Struct):
    accepted: bool


class Upload(msgspec.Struct):
    id: str
    status: str
    uploadUrl: str  # noqa: N815


def feed(
    page: FeedPage, reader: str, shown: Collection[str] = (), *, must_have_posts: bool = False
) -> Problem:
    """`shown` are the ids on earlier pages of the same walk."""
    if page.userId != reader:
        return "another user's feed"
    if must_have_posts and not page.items and not shown:
        return "an empty feed for someone with posts"
    ids = [item.id for item in page.items]
    if len(set(ids)) != len(ids):
        return "an item twice"
    if shown and not set(shown).isdisjoint(ids):
        return "an item of an earlier page again"
    return newest_first([item.createdAt for item in page.items])


def comments(page: Page, post: str) -> Problem:
    if any(item.postId != post for item in page.items):
        return "a comment of another post"
    if len({item.id for item in page.items}) != len(page.items):
        return "a comment twice"
    return newest_first([item.createdAt for item in page.items])


def edges(page: EdgePage) -> Problem:
    if len({edge.userId for edge in page.items}) != len(page.items):
        return "a user twice"
    return newest_first([edge.since for edge in page.items])


def count(answer: Count) -> Problem:
    return "a negative count" if answer.count < 0 else ""


def user(answer: User, asked: str) -> Problem:
    if answer.id != asked:
        return "another user"
    return "a negative count" if min(answer.followerCount, answer.followingCount) < 0 else ""


def users(answer: Users, asked: Collection[str]) -> Problem:
    ids = [user.id for user in answer.items]
    if len(set(ids)) != len(ids):
        return "a user twice"
    return "" if set(ids) <= set(asked) else "a user that was not asked for"


def post(answer: Post, asked: str, author: str = "", *, must_be_liked: bool = False) -> Problem:
    if answer.id != asked:
        return "another post"
    if author and answer.authorId != author:
        return "a post of another author"
    if must_be_liked and answer.likeCount == 0:
        return "a like that never showed"
    return "a negative count" if answer.likeCount < 0 else ""


def relationship(answer: Relationship) -> Problem:
    return (
        ""
        if answer.mutual == (answer.following and answer.followedBy)
        else "a relationship that contradicts itself"
    )


def newest_first(times: Sequence[str]) -> Problem:
    """RFC 3339 times of one form compare as text; ties are in any order."""
    same_form = len({len(time) for time in times}) <= 1
    return "wrong order" if same_form and any(a < b for a, b in pairwise(times)) else ""
