"""Reads the reference app through its HTTP API, as any user would."""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from results.audit.errors import ReadError
from results.audit.fetch import RefusedError, fetch
from results.audit.state import ApiCount, FeedItem, FeedWalk

TRY_FOR_S: Final = 15.0
"""How long one page is tried: a circuit may still be open, a feed may still be rebuilt."""
MOST_PAGES: Final = 20
MOST_LISTED_PAGES: Final = 100
PAGE: Final = 50


class _Item(msgspec.Struct, rename="camel"):
    id: str
    author_id: str
    created_at: datetime


class _Paged(msgspec.Struct, rename="camel", kw_only=True):
    next_cursor: str | None = None


class _FeedPage(_Paged, rename="camel", kw_only=True):
    user_id: str
    items: list[_Item]


class _Page(_Paged, rename="camel", kw_only=True):
    items: list[msgspec.Raw]


class _Count(msgspec.Struct):
    count: int


class _User(msgspec.Struct, rename="camel"):
    id: str
    follower_count: int
    following_count: int


class _Users(msgspec.Struct):
    items: list[_User]


Answer = TypeVar("Answer")
Page = TypeVar("Page", bound=_Paged)


class ApiReader:
    """Asks the API's instances in turn, and each page again until it is answered or the time is over."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls, self._asked = [url.rstrip("/") for url in urls], 0

    def feeds(self, users: Iterable[str]) -> Iterator[FeedWalk]:
        """Walk these users' feeds. Raises ReadError."""
        for user in users:
            yield self._walk(user)

    def like_counts(self, posts: Iterable[str]) -> Iterator[ApiCount]:
        """The like counts of these posts as they are shown. Raises ReadError."""
        for post in posts:
            answer = self._get(f"/posts/{quote(post)}/likes/count", post, _Count)
            yield ApiCount("likes", post, answer.count)

    def user_counts(self, users: Sequence[str]) -> Iterator[ApiCount]:
        """The "followers" and "following" of these users as they are shown. Raises ReadError."""
        if not users:
            return
        answer = self._get(f"/users?ids={','.join(map(quote, users))}", users[0], _Users)
        for user in answer.items:
            yield ApiCount("followers", user.id, user.follower_count)
            yield ApiCount("following", user.id, user.following_count)

    def listed(self, users: Iterable[str]) -> Iterator[ApiCount]:
        """How many each user's pages of followers and followings name, one named twice counted twice.

        What has too many pages to be walked to its end is left out. Raises ReadError.
        """
        for user in users:
            for side in ("followers", "following"):
                count = self._length(f"/users/{quote(user)}/{side}?limit={PAGE}", user)
                if count is not None:
                    yield ApiCount(f"listed {side}", user, count)

    def _length(self, path: str, user: str) -> int | None:
        pages = list(self._pages(path, user, _Page, most=MOST_LISTED_PAGES))
        return sum(len(page.items) for page in pages) if pages[-1].next_cursor is None else None

    def _walk(self, user: str) -> FeedWalk:
        pages = list(self._pages(f"/feed?limit={PAGE}", user, _FeedPage, most=MOST_PAGES))
        items = [
            FeedItem(item.id, item.author_id, round(item.created_at.timestamp() * 1000))
            for page in pages
            for item in page.items
        ]
        complete = pages[-1].next_cursor is None
        return FeedWalk(user, [page.user_id for page in pages], items, complete=complete)

    def _pages(self, path: str, user: str, page_type: type[Page], *, most: int) -> Iterator[Page]:
        """Page after page, up to `most` of them: if the last one has a cursor, there were more."""
        cursor: str | None = ""
        for _ in range(most):
            page = self._get(path + (f"&cursor={quote(cursor)}" if cursor else ""), user, page_type)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    def _get(self, path: str, user: str, answer_type: type[Answer]) -> Answer:
        deadline = time.monotonic() + TRY_FOR_S
        while True:
            url = self._urls[self._asked % len(self._urls)] + path
            self._asked += 1
            try:
                return msgspec.json.decode(fetch(url, {"X-User-Id": user}), type=answer_type)
            except RefusedError as error:
                raise ReadError(f"could not read {_short(url)} ({error})") from error
            except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
                if time.monotonic() >= deadline:
                    raise ReadError(
                        f"could not read {_short(url)} within {TRY_FOR_S:g} s ({error}): is the stack well?"
                    ) from error
                time.sleep(0.2)


def _short(url: str) -> str:
    """A URL as it may stand in a sentence: without what was asked for in detail."""
    return url.partition("?")[0]
