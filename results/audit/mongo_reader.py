"""Reads the collections of the reference app (docs/data-model.md), page by page in the order of `_id`."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from results.audit.errors import ReadError
from results.audit.state import CommentRow, FollowRow, LikeRow, PostRow, UserRow
from results.urls import shown

PAGE: Final = 1000
TRY_FOR_S: Final = 15.0
"""How long one page is tried: a new primary may just be on its way."""

Document = Mapping[str, Any]


class MongoReader:
    """One database of a stack, read only. Opens no connection before the first row is asked for."""

    def __init__(self, uri: str, database: str) -> None:
        self._shown = shown(uri)
        self._client: MongoClient[dict[str, Any]] = MongoClient(
            uri,
            connect=False,
            serverSelectionTimeoutMS=5000,
            connectTimeoutMS=3000,
            socketTimeoutMS=15000,
            appname="feedstorm-audit",
        )
        self._database = self._client[database]

    def __enter__(self) -> "MongoReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def users(self) -> Iterator[UserRow]:
        for doc in self._documents("users", "followerCount", "followingCount"):
            yield UserRow(doc["_id"], doc.get("followerCount", 0), doc.get("followingCount", 0))

    def follows(self) -> Iterator[FollowRow]:
        for doc in self._documents("follows", "followerId", "followeeId", "status", "updatedAt", "createdAt"):
            changed = doc.get("updatedAt") or doc.get("createdAt")
            yield FollowRow(doc["followerId"], doc["followeeId"], doc["status"] == "active", _ms(changed))

    def posts(self) -> Iterator[PostRow]:
        for doc in self._documents("posts", "authorId", "createdAt", "likeCount", "commentCount"):
            counts = doc.get("likeCount", 0), doc.get("commentCount", 0)
            yield PostRow(doc["_id"], doc["authorId"], _ms(doc["createdAt"]), *counts)

    def likes(self) -> Iterator[LikeRow]:
        for doc in self._documents("likes", "postId", "userId", "status"):
            yield LikeRow(doc["postId"], doc["userId"], doc["status"] == "active")

    def comments(self) -> Iterator[CommentRow]:
        for doc in self._documents("comments", "postId", "authorId", "createdAt"):
            yield CommentRow(doc["_id"], doc["postId"], doc["authorId"], _ms(doc["createdAt"]))

    def _documents(self, collection: str, *fields: str) -> Iterator[Document]:
        last: Any = None
        while page := self._page(collection, fields, last):
            yield from page
            last = page[-1]["_id"]

    def _page(self, collection: str, fields: tuple[str, ...], after: Any) -> list[dict[str, Any]]:
        query = {} if after is None else {"_id": {"$gt": after}}
        deadline = time.monotonic() + TRY_FOR_S
        while True:
            try:
                return list(self._database[collection].find(query, list(fields)).sort("_id", 1).limit(PAGE))
            except PyMongoError as error:
                if time.monotonic() >= deadline:
                    raise ReadError(_sentence(collection, self._shown, error)) from error
                time.sleep(0.2)


def _sentence(collection: str, uri: str, error: Exception) -> str:
    reason = shown(str(error)).split(", Timeout:")[0][:200]
    return (
        f"could not read '{collection}' from MongoDB at {uri} within {TRY_FOR_S:g} s ({reason}): "
        "is the stack still up?"
    )


def _ms(time_stamp: datetime | None) -> int:
    """Milliseconds since the epoch; pymongo's dates are UTC without saying so."""
    return 0 if time_stamp is None else round(time_stamp.replace(tzinfo=UTC).timestamp() * 1000)
