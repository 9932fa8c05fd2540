"""One client for one process and loop, its time-outs, and what its errors mean for a caller.

A write must never be called refused when it may have been done: `StoreRefusedError` is raised only where the
driver shows that nothing was sent or that the server declined; everything else is uncertain.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from pymongo import AsyncMongoClient, ReadPreference
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import (
    ConnectionFailure,
    DuplicateKeyError,
    ExecutionTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WTimeoutError,
)
from pymongo.monitoring import CommandListener

from reference_app.domain.circuit import Circuit
from reference_app.errors import PoolExhaustedError, StoreError, StoreRefusedError, StoreUncertainError
from reference_app.settings import Settings
from reference_app.stores.mongo.schema import Document

T = TypeVar("T")

STORE: Final = "mongo"
DUPLICATE_KEY: Final = 11000
_REFUSALS: Final = (10107, 13435, 13436)
"""NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary: the server says it did nothing."""
_TRANSIENT: Final = "TransientTransactionError"


class MongoLink:
    """The database as seen with different read preferences, behind two circuits (reads, writes)."""

    def __init__(
        self,
        settings: Settings,
        *,
        timeout_s: float | None = None,
        listeners: Sequence[CommandListener] = (),
    ) -> None:
        """`timeout_s` overrides the setting, for jobs that may take long; `listeners` see all commands."""
        self._timeout_s = timeout_s or settings.mongo_timeout_s
        selection_ms = int(min(self._timeout_s, 10) * 600)
        self.client: AsyncMongoClient[Document] = AsyncMongoClient(
            settings.mongo_uri,
            appname="feedstorm",
            w="majority",
            retryWrites=True,
            serverSelectionTimeoutMS=selection_ms,
            connectTimeoutMS=1000,
            socketTimeoutMS=int(self._timeout_s * 1000),
            waitQueueTimeoutMS=int(self._timeout_s * 500),
            maxConnecting=8,  # a burst on a cold pool must not queue behind two handshakes at a time
            heartbeatFrequencyMS=1000,
            maxPoolSize=64,
            maxIdleTimeMS=30_000,  # what a storm has opened is closed after it
            tz_aware=True,
            event_listeners=list(listeners),
        )
        self.db: AsyncDatabase[Document] = self.client[settings.mongo_database]
        self.primary_preferred = self.db.with_options(read_preference=ReadPreference.PRIMARY_PREFERRED)
        self.secondary_preferred = self.db.with_options(read_preference=ReadPreference.SECONDARY_PREFERRED)
        self._reads, self._writes = Circuit(), Circuit()
        self._under_way: set[asyncio.Future[Any]] = set()

    async def close(self) -> None:
        await self.client.close()

    def primary(self) -> str | None:
        """The servers that take writes, as the driver knows them now; None if there are none."""
        known = self.client.topology_description.known_servers
        return ",".join(sorted(str(server.address) for server in known if server.is_writable)) or None

    async def read(self, operation: Coroutine[Any, Any, T]) -> T:
        """A read that is not answered did nothing: it is refused, never uncertain."""
        try:
            return await self._run(operation, self._reads, within_s=self._timeout_s)
        except StoreUncertainError as error:
            raise StoreRefusedError(STORE, "no answer in time") from error

    async def write(self, operation: Coroutine[Any, Any, T]) -> T:
        return await self._run(operation, self._writes, within_s=self._timeout_s)

    async def insert(
        self, collection: AsyncCollection[Document], document: Document, *, key: Sequence[str] = ("_id",)
    ) -> Document | None:
        """Insert it; None if that went well. If its key is taken: the document that has it, from an earlier
        attempt. That attempt has been done, so from there on nothing is called refused."""
        try:
            await self.write(collection.insert_one(document))
            return None
        except DuplicateKeyError:
            pass
        try:
            return await self.read(collection.find_one({name: document[name] for name in key}))
        except StoreRefusedError as error:
            raise StoreUncertainError(
                STORE, "it was stored by an earlier attempt, and cannot be read"
            ) from error

    async def transaction(
        self, work: Callable[[AsyncClientSession], Awaitable[T]], *, within_s: float = 10.0
    ) -> T:
        """Run `work` in a transaction, again if it ran into another one. For workers: they can wait."""
        return await self._run(self._transaction(work, within_s), self._writes, within_s=within_s)

    async def _transaction(self, work: Callable[[AsyncClientSession], Awaitable[T]], within_s: float) -> T:
        """The driver's `with_transaction` retries for two minutes, without a pause; this does not."""
        deadline, pause_s = time.monotonic() + within_s, 0.01
        while True:
            try:
                async with self.client.start_session() as session, await session.start_transaction():
                    return await work(session)
            except PyMongoError as error:
                if not error.has_error_label(_TRANSIENT) or time.monotonic() + pause_s > deadline:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.5)

    async def _run(self, operation: Coroutine[Any, Any, T], circuit: Circuit, *, within_s: float) -> T:
        if not self._may_try(circuit):
            operation.close()
            wait_s = circuit.retry_after_s(time.monotonic())
            raise StoreRefusedError(STORE, "not available at the moment", retry_after_s=max(wait_s, 0.5))
        try:
            result = await self._uncancelled(operation, within_s)
        except (PyMongoError, TimeoutError) as error:
            meaning = meaning_of(error)
            if meaning is None:
                circuit.succeeded()
                raise
            if not isinstance(meaning, PoolExhaustedError):
                circuit.failed(time.monotonic())
            raise meaning from error
        circuit.succeeded()
        return result

    async def _uncancelled(self, operation: Coroutine[Any, Any, T], within_s: float) -> T:
        """Stop waiting after a time, without stopping the driver: cancelled while it looks for a member, it
        loses a lock of its own (Python 3.11), and finds no member ever after. Its own time-outs end it."""
        task = asyncio.ensure_future(operation)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        done, _ = await asyncio.wait({task}, timeout=within_s)
        if not done:
            raise TimeoutError
        return task.result()

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be left to hear of it

    def _may_try(self, circuit: Circuit) -> bool:
        """While writes fail the driver's own monitors look for a primary: no caller has to wait for that."""
        if circuit is self._writes and circuit.is_open:
            return self.client.topology_description.has_writable_server()
        return circuit.allows(time.monotonic())


def meaning_of(error: Exception) -> StoreError | None:
    """What a driver's error says about the store; None if it is about the operation itself."""
    if isinstance(error, WaitQueueTimeoutError):
        return PoolExhaustedError(STORE, "every connection is busy")
    if isinstance(error, ServerSelectionTimeoutError):
        return StoreRefusedError(STORE, "no member could take this in time")
    if _code_of(error) in _REFUSALS:
        return StoreRefusedError(STORE, "no primary")
    if isinstance(error, TimeoutError):
        return StoreUncertainError(STORE, "no answer in time")
    if isinstance(error, ConnectionFailure | WTimeoutError | ExecutionTimeout):
        return StoreUncertainError(STORE, "the connection broke before the answer came")
    if isinstance(error, PyMongoError) and (
        error.has_error_label(_TRANSIENT) or error.has_error_label("RetryableWriteError")
    ):
        return StoreUncertainError(STORE, "interrupted")
    return None


def _code_of(error: Exception) -> int | None:
    """The server's error code. A NotPrimaryError carries it in its details."""
    if isinstance(error, OperationFailure):
        return error.code
    if isinstance(error, NotPrimaryError) and isinstance(error.details, dict):
        code = error.details.get("code")
        return code if isinstance(code, int) else None
    return None
