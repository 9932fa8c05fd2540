"""One Kafka topic of an experiment's own: write to it, read it again from the beginning, delete it.

kafka-python blocks, so every call runs in a thread. It is imported late, because it is slow to load.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

from chaos.claims.evidence import CannotShowError

_REQUEST_MS: Final = 3000
_ACK_WITHIN_S: Final = 5.0
_POLL_MS: Final = 200
_EMPTY_POLLS: Final = 10


class Topic:
    """Open until `delete`. Everything is bounded; a broker that does not answer raises CannotShowError."""

    def __init__(self, bootstrap: str, name: str, producer: Any) -> None:
        self._bootstrap, self.name, self._producer = bootstrap, name, producer

    @classmethod
    async def create(cls, bootstrap: str, name: str) -> "Topic":
        return cls(bootstrap, name, await asyncio.to_thread(_open, bootstrap, name))

    async def append(self, value: bytes) -> None:
        """Returns once the broker has acknowledged the record (`acks=all`)."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        sent = self._producer.send(self.name, value=value)
        sent.add_callback(lambda _: loop.call_soon_threadsafe(_settle, done, None))
        sent.add_errback(lambda error: loop.call_soon_threadsafe(_settle, done, error))
        await asyncio.wait_for(done, _ACK_WITHIN_S)

    async def read(self, count: int) -> list[bytes]:
        """The first `count` records, or those that there are."""
        values: list[bytes] = []
        empty = 0
        async with self.reader() as more:
            while len(values) < count and empty < _EMPTY_POLLS:
                batch = await more()
                values += batch
                empty = 0 if batch else empty + 1
        return values[:count]

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Callable[[], Awaitable[list[bytes]]]]:
        """From the beginning: each call returns the records that have come since, after 0.2 s at most."""
        consumer = await asyncio.to_thread(_consumer, self._bootstrap, self.name)

        def poll() -> list[bytes]:
            batches: list[Any] = list(consumer.poll(timeout_ms=_POLL_MS).values())
            return [record.value for batch in batches for record in batch]

        try:
            yield lambda: asyncio.to_thread(poll)
        finally:
            await asyncio.to_thread(consumer.close)

    async def delete(self) -> None:
        """Safe to repeat; a broker that is gone has forgotten the topic anyway."""
        await asyncio.to_thread(self._delete)

    def _delete(self) -> None:
        from kafka.errors import KafkaError

        with suppress(KafkaError):
            self._producer.close(timeout=2)
        with suppress(KafkaError), _admin(self._bootstrap) as admin:
            admin.delete_topics([self.name])


def _settle(done: "asyncio.Future[None]", error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def _open(bootstrap: str, name: str) -> Any:
    """Make the topic, and a producer for it. Blocking."""
    from kafka import KafkaProducer
    from kafka.admin import NewTopic
    from kafka.errors import KafkaError

    try:
        with _admin(bootstrap) as admin:
            admin.create_topics([NewTopic(name, 1, 1)])
        return KafkaProducer(
            bootstrap_servers=bootstrap.split(","),
            bootstrap_timeout_ms=_REQUEST_MS,
            acks="all",
            enable_idempotence=False,
            linger_ms=5,
            request_timeout_ms=_REQUEST_MS,
            delivery_timeout_ms=_REQUEST_MS + 1000,
            max_block_ms=_REQUEST_MS,
        )
    except KafkaError as error:
        reason = f"Kafka at {bootstrap} did not answer ({type(error).__name__}); is it up?"
        raise CannotShowError(reason) from None


@contextmanager
def _admin(bootstrap: str) -> Iterator[Any]:
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(
        bootstrap_servers=bootstrap.split(","),
        request_timeout_ms=_REQUEST_MS,
        bootstrap_timeout_ms=_REQUEST_MS,
    )
    try:
        yield admin
    finally:
        admin.close()


def _consumer(bootstrap: str, name: str) -> Any:
    """A consumer at the topic's beginning. Blocking."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","),
        bootstrap_timeout_ms=_REQUEST_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    partition = TopicPartition(name, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    return consumer
