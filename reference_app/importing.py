"""`import`: bulk load of users and relationships, straight into MongoDB.

Nothing is put into Redis; what it holds is dropped, since no feed there knows the new relationships.
Lines that were loaded before are passed over, so a load can be repeated. One that was cut off leaves counts
behind rows: `reconcile --repair` brings them up.
"""

import asyncio
import contextlib
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import IO, Final

import msgspec
from pymongo import UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError, PyMongoError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from reference_app.clock import utc
from reference_app.domain.celebrity import Threshold
from reference_app.domain.ids import pair_id
from reference_app.domain.model import User
from reference_app.errors import AppError, StoreError
from reference_app.settings import Settings
from reference_app.stores.mongo.documents import ACTIVE, user_document
from reference_app.stores.mongo.graph import MongoGraph
from reference_app.stores.mongo.link import DUPLICATE_KEY, MongoLink
from reference_app.stores.mongo.schema import Document
from reference_app.stores.redis.link import RedisLink
from reference_app.views import Id

_BATCH: Final = 1000
_IN_FLIGHT: Final = 3
_BATCH_TIMEOUT_S: Final = 60.0


class UserLine(msgspec.Struct, rename="camel"):
    id: Id
    name: str
    created_at: int | str


class Line(msgspec.Struct, omit_defaults=True):
    """One line: a user, or a relationship `[followerId, followeeId, createdAtMs]`."""

    user: UserLine | None = None
    follow: tuple[Id, Id, int] | None = None


class Importer:
    def __init__(self, link: MongoLink) -> None:
        self._link = link
        self._slots = asyncio.Semaphore(_IN_FLIGHT)
        self.done = 0
        self.known = 0
        self.counted, self.to_count = 0, 0
        self._followers: Counter[str] = Counter()
        self._following: Counter[str] = Counter()

    async def load(self, lines: AsyncIterator[Line]) -> None:
        users: list[Document] = []
        follows: list[Document] = []
        async with asyncio.TaskGroup() as group:
            async for line in lines:
                if line.user is not None:
                    users.append(_user(line.user))
                if line.follow is not None:
                    follows.append(_follow(*line.follow))
                if len(users) >= _BATCH:
                    await self._begin(group, "users", users)
                    users = []
                if len(follows) >= _BATCH:
                    await self._begin(group, "follows", follows)
                    follows = []
            await self._begin(group, "users", users)
            await self._begin(group, "follows", follows)

    async def count(self) -> None:
        """Add what was loaded to the users' counts."""
        changes = [
            UpdateOne(
                {"_id": user},
                {"$inc": {"followerCount": self._followers[user], "followingCount": self._following[user]}},
            )
            for user in self._followers.keys() | self._following.keys()
        ]
        users, self.to_count = self._link.db["users"], len(changes)
        for start in range(0, len(changes), _BATCH):
            batch = changes[start : start + _BATCH]
            await users.bulk_write(batch, ordered=False)
            self.counted += len(batch)

    async def _begin(self, group: asyncio.TaskGroup, name: str, documents: list[Document]) -> None:
        """Insert in the background, once fewer than the allowed number of inserts are under way."""
        await self._slots.acquire()
        group.create_task(self._insert(name, documents))

    async def _insert(self, name: str, documents: list[Document]) -> None:
        try:
            known = await _insert_new(self._link.db[name], documents) if documents else set()
            if name == "follows":
                new = [document for document in documents if document["_id"] not in known]
                self._followers.update(document["followeeId"] for document in new)
                self._following.update(document["followerId"] for document in new)
            self.known += len(known)
            self.done += len(documents)
        finally:
            self._slots.release()


class ImportBar:
    """Shows on the error stream how far a load is; how far of what, if that is expected."""

    def __init__(self, expected: int | None = None, console: Console | None = None) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[so_far]}"))
        self._progress = Progress(
            *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console or Console(stderr=True)
        )
        self._expected = expected

    @contextlib.asynccontextmanager
    async def follow(self, importer: Importer) -> AsyncIterator[None]:
        with self._progress as progress:
            loading = progress.add_task("loading", total=self._expected, so_far="")
            counting = progress.add_task("counting followers", total=None, so_far="", visible=False)
            begun = time.monotonic()

            def draw() -> None:
                if not importer.to_count:
                    rate = importer.done / max(time.monotonic() - begun, 1e-9)
                    so_far = f"{importer.done:,} documents, {rate:,.0f}/s"
                    progress.update(loading, completed=importer.done, so_far=so_far)
                    return
                progress.update(loading, completed=importer.done, total=importer.done)
                counted, so_far = importer.counted, f"{importer.counted:,} users"
                progress.update(
                    counting, completed=counted, total=importer.to_count, so_far=so_far, visible=True
                )

            async def keep_drawing() -> None:
                while True:
                    draw()
                    await asyncio.sleep(0.2)

            drawing = asyncio.get_running_loop().create_task(keep_drawing())
            try:
                yield
                draw()
            finally:
                drawing.cancel()


async def import_lines(settings: Settings, source: IO[bytes], bar: ImportBar | None) -> int:
    """Raises AppError for a line that cannot be read."""
    link, begun = MongoLink(settings, timeout_s=_BATCH_TIMEOUT_S), time.monotonic()
    importer = Importer(link)
    try:
        async with bar.follow(importer) if bar else contextlib.nullcontext():
            await importer.load(_lines(source))
            await importer.count()
            celebrities = await _cast(MongoGraph(link), Threshold.of(settings.celebrity_threshold))
    except* (AppError, PyMongoError) as group:  # a failed insert comes in a group with its siblings
        error = group.exceptions[0]
        if isinstance(error, AppError):
            raise error from None
        raise AppError(
            f"The load stopped after {importer.done} documents: mongo answered {type(error).__name__}. "
            "Run it again when mongo is up, then `reconcile --repair`."
        ) from error
    finally:
        await link.close()
    await _drop_cache(settings)
    took = max(time.monotonic() - begun, 1e-9)
    sys.stdout.write(
        f"loaded {importer.done} documents in {took:.1f} s ({importer.done / took:.0f}/s), "
        f"{importer.known} of which were there already; {celebrities} new celebrities\n"
    )
    return 0


async def _lines(source: IO[bytes]) -> AsyncIterator[Line]:
    decoder = msgspec.json.Decoder(Line)
    for number, text in enumerate(source, 1):
        if text.strip():
            try:
                yield decoder.decode(text)
            except msgspec.DecodeError as error:
                raise AppError(f"Line {number} cannot be loaded: {error}.") from error


def _user(line: UserLine) -> Document:
    user = User(line.id, line.name, 0)
    document = user_document(user)
    made = line.created_at
    document["createdAt"] = utc(made) if isinstance(made, int) else datetime.fromisoformat(made)
    return document


def _follow(follower: str, followee: str, created_ms: int) -> Document:
    return {
        "_id": pair_id(follower, followee),
        "followerId": follower,
        "followeeId": followee,
        "status": ACTIVE,
        "createdAt": utc(created_ms),
        "updatedAt": utc(created_ms),
        "rev": 1,
        "counted": True,
    }


async def _insert_new(collection: AsyncCollection[Document], documents: Sequence[Document]) -> set[str]:
    """Insert those that are not there yet. Returns the ids of those that are."""
    try:
        await collection.insert_many(documents, ordered=False)
    except BulkWriteError as error:
        failures = (error.details or {}).get("writeErrors", [])
        if any(failure["code"] != DUPLICATE_KEY for failure in failures):
            raise
        return {documents[failure["index"]]["_id"] for failure in failures}
    return set()


async def _cast(graph: MongoGraph, threshold: Threshold) -> int:
    """Set `isCelebrity` where the new counts ask for it. No feed is built yet, so that is all."""
    promoted = [user for user in await graph.miscast(threshold, limit=100_000) if not user.is_celebrity]
    for user in promoted:
        await graph.set_pulled(user.id)
        await graph.set_celebrity(user.id, is_celebrity=True)
    return len(promoted)


async def _drop_cache(settings: Settings) -> None:
    """Without Redis there is no cache to drop."""
    link = RedisLink(settings.redis_url, timeout_s=settings.redis_timeout_s, era=settings.strategy)
    link.start()
    try:
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(settings.redis_timeout_s * 2):
                await link.usable()
            await link.call("FLUSHDB")
    finally:
        await link.close()
