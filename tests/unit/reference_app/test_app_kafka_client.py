"""What is left of a Kafka client that could not be made."""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from reference_app.settings import Settings
from reference_app.stores.kafka.client import connection_options, ensure_topics, made
from tests.deaf import deaf_proxy


@pytest.fixture
def deaf() -> Iterator[str]:
    with deaf_proxy() as address:
        yield address


def held() -> tuple[set[str], int]:
    """Names of the library's threads, and how many files are open."""
    threads = {thread.name for thread in threading.enumerate() if thread.name.startswith("kafka")}
    return threads, len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("kind", [KafkaAdminClient, KafkaConsumer, KafkaProducer])
def test_a_client_that_cannot_be_made_leaves_nothing_behind(kind: Callable[..., Any], deaf: str) -> None:
    before = held()
    options = connection_options(Settings(kafka_bootstrap=deaf), bootstrap_s=0.3)
    with pytest.raises(KafkaError):
        made(kind, **options)
    assert held() == before


def test_looking_for_topics_in_vain_leaves_nothing_behind(deaf: str) -> None:
    before = held()
    for _ in range(3):
        with pytest.raises(KafkaError):
            ensure_topics(Settings(kafka_bootstrap=deaf), ["one"], within_s=0.2)
    assert held() == before
