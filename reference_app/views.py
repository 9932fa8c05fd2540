"""What the API shows, as it is written in JSON."""

from datetime import datetime
from typing import Annotated

import msgspec

from reference_app.clock import utc
from reference_app.domain.ids import ID_PATTERN
from reference_app.domain.model import Comment, Edge, Post, User

Id = Annotated[str, msgspec.Meta(pattern=ID_PATTERN, description="A lower-case UUID.")]
Count = Annotated[int, msgspec.Meta(ge=0)]


class View(msgspec.Struct, rename="camel"):
    """The base of all answers."""


class UserView(View):
    id: Id
    name: str
    follower_count: Count
    following_count: Count
    is_celebrity: bool
    created_at: datetime


class Users(View):
    items: list[UserView]


class Following(View):
    """`changed` is false if that was so already."""

    following: bool
    changed: bool


class EdgeView(View):
    user_id: Id
    since: datetime


class Edges(View):
    items: list[EdgeView]
    next_cursor: str | None


class CountView(View):
    count: Count


class Relationship(View):
    following: bool
    followed_by: bool
    mutual: bool


class LikedBy(View):
    """The newest likers, and how many there are besides them."""

    users: list[Id]
    others: Count


class PostView(View):
    id: Id
    author_id: Id
    text: str
    tags: list[str]
    created_at: datetime
    like_count: Count
    comment_count: Count
    liked_by: LikedBy


class Accepted(View):
    accepted: bool = True


class CommentView(View):
    id: Id
    post_id: Id
    author_id: Id
    text: str
    created_at: datetime


class Comments(View):
    items: list[CommentView]
    next_cursor: str | None


class Upload(View):
    """Where to put the media (`PUT`, with the same content type), and where its thumbnail will be."""

    id: Id
    status: str
    upload_url: str
    thumbnail_url: str
    expires_at: datetime


class Feed(View):
    """`stale`: read from where it may lag, because something is out of order."""

    user_id: Id
    items: list[PostView]
    next_cursor: str | None
    stale: bool


_encode = msgspec.json.Encoder().encode


def user_view(user: User) -> UserView:
    return UserView(
        user.id,
        user.name,
        max(0, user.follower_count),
        max(0, user.following_count),
        user.is_celebrity,
        utc(user.created_ms),
    )


def edge_view(edge: Edge) -> EdgeView:
    return EdgeView(edge.user_id, utc(edge.since_ms))


def post_view(post: Post) -> PostView:
    likers = list(post.recent_likers)
    return PostView(
        post.id,
        post.author_id,
        post.text,
        list(post.tags),
        utc(post.created_ms),
        post.like_count,
        post.comment_count,
        LikedBy(likers, max(0, post.like_count - len(likers))),
    )


def post_body(post: Post) -> bytes:
    """A post as JSON: cached and sent as it is."""
    return _encode(post_view(post))


def comment_view(comment: Comment) -> CommentView:
    return CommentView(comment.id, comment.post_id, comment.author_id, comment.text, utc(comment.created_ms))


def feed_body(user_id: str, items: list[bytes], next_cursor: str | None, *, stale: bool) -> bytes:
    """A `Feed` around posts that are JSON already."""
    return b'{"userId":"%b","items":[%b],"nextCursor":%b,"stale":%b}' % (
        user_id.encode(),
        b",".join(items),
        b"null" if next_cursor is None else b'"%b"' % next_cursor.encode(),
        b"true" if stale else b"false",
    )
