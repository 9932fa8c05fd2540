"""Sending to Kafka from asyncio: kafka-python works in threads of its own, we wait for its answers here.

The producer is made in the background, so a process starts and serves without Kafka. A record is acknowledged
to its caller only when all in-sync replicas have it. After failures a circuit refuses new records at once;
no like is buffered without somebody waiting for it.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from typing import Any, Final

import msgspec
from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from reference_app.clock import now_ms
from reference_app.domain.circuit import Circuit
from reference_app.domain.likes import LikeEvent, shard_of
from reference_app.domain.model import Post
from reference_app.errors import StoreError, StoreRefusedError, StoreUncertainError
from reference_app.settings import Settings
from reference_app.stores.kafka.client import STORE, connection_options, ensure_topics, made
from reference_app.stores.kafka.records import LIKES, POSTS, PROBES, TOPICS, LikeRecord, PostMade

log = logging.getLogger(__name__)

_LINGER_MS: Final = 5
_RETRY_S: Final = 0.5
_CHECK_S: Final = 5.0
_FIRST_LOOK_S: Final = 5.0


class KafkaSink:
    """Implements `EventSink`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Any = None
        self._partitions: dict[str, int] = {}
        self._circuit = Circuit(open_after=2)
        self._watch: asyncio.Task[None] | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._acks = Acks()
        self._encode = msgspec.json.Encoder().encode

    def start(self) -> None:
        """Begin to connect, in a thread of its own; returns at once."""
        self._acks.bind(asyncio.get_running_loop())
        self._thread = threading.Thread(target=self._connect, name="kafka-connect", daemon=True)
        self._thread.start()

    async def close(self, *, within_s: float = 3.0) -> None:
        """Flush what was accepted, within a bound."""
        self._stopping.set()
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.to_thread(self._close, within_s)

    @property
    def is_usable(self) -> bool:
        return self._producer is not None and not self._circuit.is_open

    async def send_like(self, event: LikeEvent) -> None:
        record = LikeRecord(event.post_id, event.user_id, event.liked, event.at)
        count = self._partitions.get(LIKES, 1)
        partition = shard_of(event.user_id, self._settings.like_shards) % count
        await self._send(LIKES, f"{event.post_id}:{event.user_id}", self._encode(record), partition)

    def announce_post(self, post: Post) -> None:
        if not self.is_usable:
            return
        record = PostMade(post.id, post.author_id, post.created_ms, post.celebrity, now_ms())
        with contextlib.suppress(KafkaError):
            self._producer.send(POSTS, key=post.id.encode(), value=self._encode(record))

    async def probe(self) -> None:
        """Write something that nobody reads."""
        await self._send(PROBES, "probe", b"{}", 0)

    async def _send(self, topic: str, key: str, value: bytes, partition: int) -> None:
        if self._producer is None:
            raise StoreRefusedError(STORE, "not connected yet")
        if self._circuit.is_open:
            raise StoreRefusedError(STORE, "not available at the moment")
        try:
            await self._send_now(topic, key, value, partition)
        except StoreError:
            self._circuit.failed(time.monotonic())
            self._watch_if_open()
            raise
        self._circuit.succeeded()

    async def _send_now(self, topic: str, key: str, value: bytes, partition: int) -> None:
        try:
            sent = self._producer.send(topic, key=key.encode(), value=value, partition=partition)
        except (KafkaError, AssertionError) as error:  # an assertion: the topic has fewer partitions now
            raise StoreRefusedError(STORE, "the record could not be sent") from error
        try:
            async with asyncio.timeout(self._settings.kafka_timeout_s + 0.2):
                await self._acks.of(sent)
        except (KafkaError, TimeoutError) as error:
            raise StoreUncertainError(STORE, "the record was not acknowledged in time") from error

    def _watch_if_open(self) -> None:
        if self._circuit.is_open and (self._watch is None or self._watch.done()):
            self._watch = asyncio.get_running_loop().create_task(self._until_back())

    async def _until_back(self) -> None:
        """While the circuit is open, probe with records that nobody reads: no caller has to wait for that."""
        while self._circuit.is_open:
            await asyncio.sleep(_RETRY_S)
            with contextlib.suppress(StoreError):
                await self._send_now(PROBES, "probe", b"{}", 0)
                self._circuit.succeeded()

    def _connect(self) -> None:
        """Make the producer and the topics. Afterwards see to it that a broker that has lost them (an
        in-memory one, started again) gets them back."""
        warned = False
        while not self._stopping.is_set():
            try:
                ensure_topics(self._settings, TOPICS, within_s=2.0)
                producer = self._producer or self._make_producer()
                self._partitions = self._look_at_partitions(producer)
                if self._producer is None:
                    log.info("kafka is available")
                self._producer, warned = producer, False
                self._stopping.wait(_CHECK_S)
                while not self._stopping.is_set() and not self._circuit.is_open:
                    self._stopping.wait(_RETRY_S)
            except Exception as error:  # the library fails in many ways while a broker is not there
                if not warned:
                    log.warning(
                        "kafka at %s is not available: %s",
                        self._settings.kafka_bootstrap,
                        type(error).__name__,
                    )
                warned = True
                self._stopping.wait(_RETRY_S)

    def _look_at_partitions(self, producer: Any) -> dict[str, int]:
        """A producer's first look at a cluster takes longer than a request may be blocked."""
        deadline = time.monotonic() + _FIRST_LOOK_S
        while True:
            try:
                return {topic: len(producer.partitions_for(topic)) for topic in TOPICS}
            except KafkaTimeoutError:
                if self._stopping.is_set() or time.monotonic() >= deadline:
                    if producer is not self._producer:
                        producer.close(timeout=0)
                    raise

    def _make_producer(self) -> Any:
        timeout_ms = int(self._settings.kafka_timeout_s * 1000)
        return made(
            KafkaProducer,
            **connection_options(self._settings, bootstrap_s=2.0)
            | {"request_timeout_ms": max(200, timeout_ms - 300)},
            client_id="feedstorm",
            acks="all",
            # An idempotent producer never recovers from a broker that has forgotten it; repeats are harmless.
            enable_idempotence=False,
            linger_ms=_LINGER_MS,
            delivery_timeout_ms=timeout_ms,
            max_block_ms=100,
            metrics_enabled=False,
        )

    def _close(self, within_s: float) -> None:
        if self._thread is not None:
            self._thread.join(within_s)
        if self._producer is not None:
            with contextlib.suppress(KafkaError):
                self._producer.flush(timeout=within_s)
            with contextlib.suppress(KafkaError):
                self._producer.close(timeout=1.0)


class Acks:
    """Carries acknowledgements from the library's thread to the loop, many with one wake-up."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done: deque[tuple[asyncio.Future[None], BaseException | None]] = deque()
        self._woken = False

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def of(self, sent: Any) -> "asyncio.Future[None]":
        assert self._loop is not None
        future = self._loop.create_future()
        sent.add_callback(lambda _: self._arrived(future, None))
        sent.add_errback(lambda error: self._arrived(future, error))
        return future

    def _arrived(self, future: "asyncio.Future[None]", error: BaseException | None) -> None:
        self._done.append((future, error))
        if not self._woken and self._loop is not None:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._woken = False
        while self._done:
            future, error = self._done.popleft()
            if not future.done():
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)
