"""kafka-python as we use it: every time-out set, no retry without a bound, calm while a broker stalls."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError
from kafka.net.compat import KafkaNetClient

from reference_app.settings import Settings

log = logging.getLogger(__name__)

STORE: Final = "kafka"
_STOP_MS: Final = 2000

T = TypeVar("T")
# The library logs each failed attempt to connect, several times a second: we say it once ourselves.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


class CalmClient(KafkaNetClient):  # type: ignore[misc]  # the library is not typed
    """Without this the sender thread spins a whole core while a broker has stalled: with its requests
    in flight full, the stock client asks to be polled again after 0 ms."""

    def connection_delay(self, node_id: Any) -> float:
        delay: float = super().connection_delay(node_id)
        return delay if delay > 0 else 10

    def stop(self) -> None:
        """End its thread, which may hold no call of ours any more."""
        self._net.stop(timeout_ms=_STOP_MS)


def connection_options(settings: Settings, *, bootstrap_s: float) -> dict[str, Any]:
    """What producers, consumers and the admin client have in common."""
    return {
        "bootstrap_servers": settings.kafka_bootstrap.split(","),
        "bootstrap_timeout_ms": int(bootstrap_s * 1000),
        "request_timeout_ms": int(settings.kafka_timeout_s * 1000),
        "reconnect_backoff_ms": 50,
        "reconnect_backoff_max_ms": 500,
    }


def made(kind: Callable[..., T], **options: Any) -> T:
    """A producer, consumer or admin client of the library. Raises KafkaError.

    One that cannot be made leaves nothing behind. By itself it leaves a thread that goes on connecting for
    ever, also once the broker is back: seven of them in an outage of 15 s (kafka-python 3.0.12).
    """
    clients: list[CalmClient] = []

    def client(**configs: Any) -> CalmClient:
        clients.append(CalmClient(**configs))
        return clients[-1]

    try:
        return kind(**options, kafka_client=client)
    except BaseException:
        for one in clients:
            one.close()
            one.stop()

        raise


def ensure_topics(settings: Settings, topics: Sequence[str], *, within_s: float = 10.0) -> None:
    """Make the topics that are missing. Blocking. Raises KafkaError."""
    options = connection_options(settings, bootstrap_s=within_s)
    admin = made(KafkaAdminClient, **options | {"request_timeout_ms": int(within_s * 1000)})
    try:
        missing = sorted(set(topics) - set(admin.list_topics()))
        new = [NewTopic(topic, settings.partitions, settings.replication) for topic in missing]
        if new:
            with contextlib.suppress(TopicAlreadyExistsError):
                admin.create_topics(new)
            log.info("made the topics %s", ", ".join(missing))
    finally:
        with contextlib.suppress(KafkaError):
            admin.close()
