"""Reading from Kafka into asyncio: a thread polls, the loop handles, and only then is the batch committed.

A batch is handled to its end before its offsets are committed, so a worker that dies leaves it to be handled
again by another: handlers make repeats harmless. While a handler waits for a store, the thread goes on
polling with its partitions paused, and the worker stays in its group.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from kafka import KafkaConsumer
from kafka.errors import KafkaError

from reference_app.settings import Settings
from reference_app.stores.kafka.client import connection_options, ensure_topics, made
from reference_app.stores.kafka.records import TOPICS

log = logging.getLogger(__name__)

Handler = Callable[[Sequence[bytes]], Awaitable[None]]

SESSION_MS: Final = 6000
_HEARTBEAT_MS: Final = 1500
_POLL_MS: Final = 200
_RETRY_S: Final = (0.5, 2.0)
_LAG_EVERY_S: Final = 1.0
_LEFT_OUT_S: Final = (40.0, 60.0)
"""From and to, drawn anew each time so that members do not join in step. The embedded stack's broker takes
two session time-outs to replace a leader that died: whoever joins anew before that makes it begin again."""


class _LeftOutError(Exception):
    """The group gives this member nothing: it joins anew."""


class Holding(NamedTuple):
    """What a member of a group has before it.

    `backlog`: records in its own partitions that are not handled yet; NaN while that is not known.
    `partitions`: how many are its own. `of`: how many the topic has; 0 until it was told.
    """

    backlog: float = float("nan")
    partitions: int = 0
    of: int = 0


class KafkaSource:
    """One member of the consumer group `group` on `topic`."""

    def __init__(self, settings: Settings, topic: str, group: str, *, batch: int) -> None:
        self._settings, self._topic, self._group, self._batch = settings, topic, group, batch
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.holding = Holding()

    def start(self, handler: Handler) -> None:
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._work, args=(handler, loop), name=f"kafka-{self._group}", daemon=True
        )
        self._thread.start()

    async def close(self, *, within_s: float = 8.0) -> None:
        """Finish the batch in hand, commit it and leave the group."""
        self._stopping.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, within_s)

    def _work(self, handler: Handler, loop: asyncio.AbstractEventLoop) -> None:
        warned = False
        while not self._stopping.is_set():
            consumer: Any = None
            try:
                ensure_topics(self._settings, TOPICS, within_s=2.0)
                consumer = self._make_consumer()
                warned = False
                self._consume(consumer, handler, loop)
            except Exception as error:  # the library fails in many ways while a broker is not there
                if not warned:
                    log.warning("%s: not consuming: %s: %s", self._group, type(error).__name__, error)
                warned = True
            finally:
                self.holding = Holding(of=self.holding.of)
                if consumer is not None:
                    with contextlib.suppress(Exception):
                        consumer.close(autocommit=False, timeout_ms=2000)
            self._stopping.wait(random.uniform(*_RETRY_S))

    def _make_consumer(self) -> Any:
        options = connection_options(self._settings, bootstrap_s=2.0)
        consumer: Any = made(
            KafkaConsumer,
            # A group's first joining can take longer than any single store call may.
            **options | {"request_timeout_ms": SESSION_MS + 4000},
            client_id=f"feedstorm-{self._group}",
            group_id=f"feedstorm.{self._group}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            max_poll_records=self._batch,
            fetch_max_wait_ms=_POLL_MS,
            metrics_enabled=False,
        )
        consumer.subscribe([self._topic])
        return consumer

    def _consume(self, consumer: Any, handler: Handler, loop: asyncio.AbstractEventLoop) -> None:
        measured_at, had_partitions_at = 0.0, time.monotonic()
        left_out_s = random.uniform(*_LEFT_OUT_S)
        while not self._stopping.is_set():
            batches = consumer.poll(timeout_ms=_POLL_MS)
            held = len(consumer.assignment())
            if held:
                had_partitions_at = time.monotonic()
            elif time.monotonic() - had_partitions_at > left_out_s:
                raise _LeftOutError(f"no partitions for {left_out_s:.0f} s")
            values = [record.value for records in batches.values() for record in records]
            if values:
                self.holding = self.holding._replace(backlog=max(len(values), self.holding.backlog))
                if self._handle(consumer, handler(values), loop):
                    self._commit(consumer)
            if values or held != self.holding.partitions or time.monotonic() - measured_at > _LAG_EVERY_S:
                measured_at = time.monotonic()
                self.holding = self._measure(consumer)

    def _handle(self, consumer: Any, work: Awaitable[None], loop: asyncio.AbstractEventLoop) -> bool:
        """Wait for the handler, which tries until it succeeds; False if we have to stop before that."""
        future = asyncio.run_coroutine_threadsafe(_as_coroutine(work), loop)
        while True:
            try:
                future.result(timeout=_POLL_MS / 1000)
                return True
            except concurrent.futures.TimeoutError:
                if self._stopping.is_set():
                    future.cancel()
                    return False
                _stay_in_group(consumer)

    def _commit(self, consumer: Any) -> None:
        """If it fails (the group was re-formed meanwhile), the batch is handled once more."""
        try:
            consumer.commit(timeout_ms=2000)
        except KafkaError as error:
            log.info("%s: a batch was not committed: %s", self._group, type(error).__name__)

    def _measure(self, consumer: Any) -> Holding:
        """While a group forms nobody has its partitions (41 s once, on a broker that had been killed): that
        nothing is before this member says nothing then, and only the number of partitions tells."""
        mine, of = list(consumer.assignment()), self.holding.of
        try:
            of = len(consumer.partitions_for_topic(self._topic)) or of
            ends = consumer.end_offsets(mine, timeout_ms=1000) if mine else {}
            # Tansu takes the beginning of the last batch for the end; what a fetch has told is right.
            backlog = sum(
                max(0, max(ends[one], consumer.highwater(one) or 0) - consumer.position(one, timeout_ms=1000))
                for one in mine
            )
            return Holding(backlog, len(mine), of)
        except (KafkaError, KeyError, TypeError):
            return Holding(float("nan"), len(mine), of)


def _stay_in_group(consumer: Any) -> None:
    """Poll without taking records. What a re-formed group hands us all the same is given back."""
    consumer.pause(*consumer.assignment())
    for partition, records in consumer.poll(timeout_ms=0).items():
        consumer.seek(partition, records[0].offset)
    consumer.resume(*consumer.assignment())


async def _as_coroutine(work: Awaitable[None]) -> None:
    await work
