"""The workers that take batches from Kafka: fan-out and likes."""

import logging
from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from reference_app.app import App
from reference_app.domain.model import Announced, Post
from reference_app.metrics import Metrics
from reference_app.stores.kafka.records import LikeRecord, PostMade
from reference_app.stores.kafka.source import KafkaSource
from reference_app.workers.retrying import until_done
from reference_app.workers.worker import NotReadyError, Worker

log = logging.getLogger(__name__)

Record = TypeVar("Record", bound=msgspec.Struct)


class BatchHandler(Protocol):
    """What a consuming worker does with a batch of record values. Returns once it is done for good."""

    kind: str

    async def handle(self, values: Sequence[bytes]) -> None: ...


class ConsumingWorker:
    """Implements `Worker` around a Kafka consumer. `stand_in` does upkeep while nobody else does."""

    def __init__(self, source: KafkaSource, handler: BatchHandler, stand_in: Worker) -> None:
        self._source, self._handler, self._stand_in = source, handler, stand_in

    def start(self) -> None:
        self._source.start(self._handler.handle)
        self._stand_in.start()

    async def close(self) -> None:
        await self._source.close()
        await self._stand_in.close()

    async def ready(self) -> None:
        if not self._source.holding.partitions:
            raise NotReadyError("no partitions are assigned to this worker")

    def measure(self, metrics: Metrics) -> None:
        metrics.gauge(
            "feed_backlog",
            "Records assigned to this worker and not yet applied.",
            lambda: self._source.holding.backlog,
            kind=self._handler.kind,
        )
        metrics.gauge(
            "feed_partitions_assigned",
            "Partitions assigned to this worker.",
            lambda: self._source.holding.partitions,
            kind=self._handler.kind,
        )
        metrics.gauge(
            "feed_partitions",
            "Partitions of the topic that workers of this kind read; 0 while that is not known.",
            lambda: self._source.holding.of,
            kind=self._handler.kind,
        )
        self._stand_in.measure(metrics)


class FanOutHandler:
    kind = "fanout"

    def __init__(self, app: App) -> None:
        self._app = app

    async def handle(self, values: Sequence[bytes]) -> None:
        announced = [
            Announced(
                Post(made.post_id, made.author_id, "", made.created_ms, celebrity=made.celebrity),
                made.stored_ms,
            )
            for made in decoded(values, PostMade)
        ]
        await until_done("fan-out", lambda: self._app.fan_out.deliver_announced(announced))


class LikeHandler:
    kind = "likes"

    def __init__(self, app: App) -> None:
        self._app = app

    async def handle(self, values: Sequence[bytes]) -> None:
        events = [record.event() for record in decoded(values, LikeRecord)]
        await until_done("likes", lambda: self._app.liking.apply(events))


def decoded(values: Sequence[bytes], kind: type[Record]) -> list[Record]:
    """The records that can be read. One that cannot is reported and passed over: it would stop its
    partition for ever."""
    records: list[Record] = []
    decoder = msgspec.json.Decoder(kind)
    for value in values:
        try:
            records.append(decoder.decode(value))
        except (msgspec.DecodeError, TypeError) as error:
            log.error("a record in the topic is not a %s: %s", kind.__name__, error)
    return records
