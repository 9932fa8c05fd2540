"""The feed's API as users call it: one method is one op, with its checks, and its line in the ledger.

Methods return the decoded answer, or None if the op was not `ok` or its content was wrong; what
exactly became of it is in the rows and in the ledger already.
"""

import time
from collections.abc import Callable, Collection, Container
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import gevent
import msgspec

from loadtests import checks
from loadtests.http.client import HttpClient
from loadtests.http.response import Response
from loadtests.ledger import Ledger
from results.history import WriteKind

T = TypeVar("T")


class Answer(Generic[T]):
    """Decodes a body of one type and looks whether it is right."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, response: Response, problem: Callable[[T], str]) -> T | None:
        answer: T | None = response.decode(self._decoder)
        if answer is not None and (what := problem(answer)):
            response.wrong(what)
            return None
        return answer


FEED: Final = Answer(checks.FeedPage)
COMMENTS: Final = Answer(checks.Page)
EDGES: Final = Answer(checks.EdgePage)
COUNT: Final = Answer(checks.Count)
USER: Final = Answer(checks.User)
USERS: Final = Answer(checks.Users)
POST: Final = Answer(checks.Post)
FOLLOWING: Final = Answer(checks.Following)
RELATIONSHIP: Final = Answer(checks.Relationship)
CREATED: Final = Answer(checks.Created)
ACCEPTED: Final = Answer(checks.Accepted)
UPLOAD: Final = Answer(checks.Upload)


@dataclass(frozen=True, slots=True)
class Write:
    """What a write is, for the ledger."""

    kind: WriteKind
    actor: str
    target: str


class FeedApi:
    """Calls the API through one client. `me` is the id of the calling user."""

    def __init__(self, client: HttpClient, ledger: Ledger) -> None:
        self._client, self._ledger = client, ledger

    # -- reads -------------------------------------------------------------------------------

    def feed(
        self,
        me: str,
        *,
        limit: int = 20,
        cursor: str | None = None,
        shown: Collection[str] = (),
        must_have_posts: bool = False,
    ) -> checks.FeedPage | None:
        url = (
            f"/feed?limit={limit}"
            if cursor is None
            else f"/feed?limit={limit}&cursor={quote(cursor, safe='')}"
        )

        def problem(page: checks.FeedPage) -> str:
            return checks.feed(page, me, shown, must_have_posts=must_have_posts)

        def read(response: Response) -> checks.FeedPage | None:
            page = FEED.read(response, problem)
            response.stale = page is not None and page.stale
            return page

        return self._read(me, url, "/feed", read)

    def user(self, me: str, user: str) -> checks.User | None:
        return self._get(me, f"/users/{user}", "/users/{id}", USER, lambda answer: checks.user(answer, user))

    def users(self, me: str, ids: Collection[str]) -> checks.Users | None:
        url = f"/users?ids={','.join(ids)}"
        return self._get(me, url, "/users", USERS, lambda answer: checks.users(answer, ids))

    def followers(self, me: str, user: str, *, cursor: str | None = None) -> checks.EdgePage | None:
        url = f"/users/{user}/followers?limit=20" + (f"&cursor={quote(cursor, safe='')}" if cursor else "")
        return self._get(me, url, "/users/{id}/followers", EDGES, checks.edges)

    def following(self, me: str, user: str) -> checks.EdgePage | None:
        return self._get(
            me, f"/users/{user}/following?limit=20", "/users/{id}/following", EDGES, checks.edges
        )

    def follower_count(self, me: str, user: str) -> int | None:
        url, name = f"/users/{user}/followers/count", "/users/{id}/followers/count"
        answer = self._get(me, url, name, COUNT, checks.count)
        return None if answer is None else answer.count

    def following_count(self, me: str, user: str) -> int | None:
        url, name = f"/users/{user}/following/count", "/users/{id}/following/count"
        answer = self._get(me, url, name, COUNT, checks.count)
        return None if answer is None else answer.count

    def relationship(self, me: str, other: str) -> checks.Relationship | None:
        url, name = f"/users/{me}/relationship/{other}", "/users/{id}/relationship/{other}"
        return self._get(me, url, name, RELATIONSHIP, checks.relationship)

    def post(
        self, me: str, post: str, author: str = "", *, must_be_liked: bool = False
    ) -> checks.Post | None:
        def problem(answer: checks.Post) -> str:
            return checks.post(answer, post, author, must_be_liked=must_be_liked)

        return self._get(me, f"/posts/{post}", "/posts/{id}", POST, problem)

    def like_count(self, me: str, post: str) -> int | None:
        answer = self._get(me, f"/posts/{post}/likes/count", "/posts/{id}/likes/count", COUNT, checks.count)
        return None if answer is None else answer.count

    def comments(self, me: str, post: str) -> checks.Page | None:
        url, name = f"/posts/{post}/comments?limit=20", "/posts/{id}/comments"
        return self._get(me, url, name, COMMENTS, lambda page: checks.comments(page, post))

    # -- writes ------------------------------------------------------------------------------

    def follow(self, me: str, other: str) -> checks.Following | None:
        return self._following("PUT", Write("follow", me, other), expected=True)

    def unfollow(self, me: str, other: str) -> checks.Following | None:
        return self._following("DELETE", Write("unfollow", me, other), expected=False)

    def _following(self, method: str, write: Write, *, expected: bool) -> checks.Following | None:
        def problem(answer: checks.Following) -> str:
            return "" if answer.following is expected else "the opposite of what was asked"

        url, name = f"/users/{write.actor}/following/{write.target}", "/users/{id}/following/{other}"
        return self._write(write, method, url, name, lambda response: FOLLOWING.read(response, problem))

    def publish(self, me: str, text: str, tags: Collection[str] = ()) -> str | None:
        """Post something; the new post's id."""
        return self._create(Write("post", me, me), "/posts", "/posts", {"text": text, "tags": list(tags)})

    def comment(self, me: str, post: str, text: str) -> str | None:
        """Comment on a post; the new comment's id."""
        name = "/posts/{id}/comments"
        return self._create(Write("comment", me, post), f"/posts/{post}/comments", name, {"text": text})

    def like(self, me: str, post: str) -> bool:
        return self._like("PUT", Write("like", me, post))

    def unlike(self, me: str, post: str) -> bool:
        return self._like("DELETE", Write("unlike", me, post), expect=(404, 409))

    def _like(self, method: str, write: Write, expect: Container[int] = ()) -> bool:
        def read(response: Response) -> checks.Accepted | None:
            return ACCEPTED.read(response, lambda answer: "" if answer.accepted else "not accepted after all")

        url = f"/posts/{write.target}/like"
        return self._write(write, method, url, "/posts/{id}/like", read, expect=expect) is not None

    def upload(self, me: str, content_type: str = "image/jpeg") -> checks.Upload | None:
        """Ask for an upload URL. Nothing that must not be lost: it is not in the ledger."""
        problem: Callable[[checks.Upload], str] = lambda made: "" if made.uploadUrl else "no upload URL"  # noqa: E731
        return self._call(
            "POST",
            "/media/uploads",
            "/media/uploads",
            {"X-User-Id": me, "Idempotency-Key": self._ledger.new_key()},
            lambda response: UPLOAD.read(response, problem),
            json={"contentType": content_type},
        )[1]

    # -- how all of them are sent ------------------------------------------------------------

    def _get(self, me: str, url: str, name: str, answer: Answer[T], problem: Callable[[T], str]) -> T | None:
        return self._read(me, url, name, lambda response: answer.read(response, problem))

    def _read(self, me: str, url: str, name: str, read: Callable[[Response], T | None]) -> T | None:
        return self._call("GET", url, name, {"X-User-Id": me}, read)[1]

    def _create(self, write: Write, url: str, name: str, body: dict[str, Any]) -> str | None:
        made = self._write(
            write, "POST", url, name, lambda response: CREATED.read(response, lambda _: ""), json=body
        )
        return None if made is None else made.id

    def _write(
        self,
        write: Write,
        method: str,
        url: str,
        name: str,
        read: Callable[[Response], T | None],
        *,
        json: dict[str, Any] | None = None,
        expect: Container[int] = (),
    ) -> T | None:
        """A write, and its line in the ledger whatever becomes of it."""
        key = self._ledger.new_key()
        headers = {"X-User-Id": write.actor, "Idempotency-Key": key}
        began = self._client.intended or time.monotonic()
        try:
            response, answer = self._call(method, url, name, headers, read, json=json, expect=expect)
        except gevent.GreenletExit:
            self._ledger.abandoned(write.kind, write.actor, write.target, key, began)
            raise
        new_id = answer.id if isinstance(answer, checks.Created) else ""
        self._ledger.record(write.kind, write.actor, write.target, key, response, new_id)
        return answer

    def _call(
        self,
        method: str,
        url: str,
        name: str,
        headers: dict[str, str],
        read: Callable[[Response], T | None],
        *,
        json: dict[str, Any] | None = None,
        expect: Container[int] = (),
    ) -> tuple[Response, T | None]:
        answer: list[T | None] = [None]

        def check(response: Response) -> None:
            answer[0] = read(response)

        response = self._client.request(
            method, url, name=name, headers=headers, json=json, expect=expect, check=check
        )
        return response, answer[0]
