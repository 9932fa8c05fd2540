"""Kafka lag, asked of the embedded stack's broker: what was committed, what was never read, an outage."""

import threading
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from compose.embedded.ports import free_ports
from compose.embedded.stack import EmbeddedStack
from compose.kafka_lag import KafkaLag, lag_by_topic
from compose.stack import StackOptions
from compose.waiting import wait_until
from tests.deaf import deaf_proxy

TOPIC, GROUP = "lag.test", "lag.readers"
BOTH = (TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1))

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedStack]:
    made = EmbeddedStack.create(tmp_path_factory.mktemp("lag") / "home", StackOptions(services_only=True))
    await made.up()
    try:
        yield made
    finally:
        await made.down()


@pytest.fixture
def lag(stack: EmbeddedStack) -> Iterator[KafkaLag]:
    made = KafkaLag(stack.endpoints.kafka_bootstrap, within_s=2)
    yield made
    made.close()


async def test_lag_lies_between_committed_and_end_and_is_never_negative() -> None:
    likes, posts, ended = (TopicPartition(name, 0) for name in ("likes", "posts", "ended"))
    never_read = TopicPartition("likes", 1)
    committed = {likes: 5, posts: 9, ended: 4}
    assert lag_by_topic(committed, {likes: 8, posts: 3, never_read: 2}) == {"likes": 5, "posts": 0}


def append(bootstrap: str, partition: int, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=False)
    for number in range(count):  # one by one: Tansu takes the beginning of the last batch for the end
        producer.send(TOPIC, b"%d" % number, partition=partition).get(timeout=10)
    producer.close(timeout=5)


def commit(bootstrap: str, at: TopicPartition, offset: int) -> None:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False)
    consumer.assign([at])
    consumer.commit({at: OffsetAndMetadata(offset, "", -1)}, timeout_ms=5000)
    consumer.close(autocommit=False, timeout_ms=2000)


def make_topic(bootstrap: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap, bootstrap_timeout_ms=5000)
    admin.create_topics({TOPIC: {"num_partitions": 2, "replication_factor": 1}})
    admin.close()


async def test_what_a_group_has_not_committed_is_its_lag(stack: EmbeddedStack, lag: KafkaLag) -> None:
    bootstrap = stack.endpoints.kafka_bootstrap
    make_topic(bootstrap)
    append(bootstrap, 0, 5)
    assert (GROUP, TOPIC) not in lag.read()
    commit(bootstrap, BOTH[0], 2)
    assert lag.read()[GROUP, TOPIC] == 3
    append(bootstrap, 1, 4)
    assert lag.read()[GROUP, TOPIC] == 3 + 4
    commit(bootstrap, BOTH[0], 5)
    commit(bootstrap, BOTH[1], 4)
    assert lag.read()[GROUP, TOPIC] == 0


async def test_a_frozen_broker_is_an_error_in_time_and_is_read_again_afterwards(
    stack: EmbeddedStack, lag: KafkaLag
) -> None:
    before = lag.read()
    stack.control.pause("kafka")
    try:
        for _ in range(2):
            with pytest.raises((KafkaError, OSError)):
                lag.read()
    finally:
        stack.control.resume("kafka")
    await wait_until(lambda: read_again(lag) == before, "the lag as it was", within_s=20)


async def test_a_dead_broker_is_an_error_and_its_successor_is_asked(
    stack: EmbeddedStack, lag: KafkaLag
) -> None:
    lag.read()
    stack.control.kill("kafka")
    try:
        with pytest.raises((KafkaError, OSError)):
            lag.read()
    finally:
        stack.control.start("kafka")
    await wait_until(lambda: read_again(lag) == {}, "a broker that has forgotten everything", within_s=20)


async def test_asking_nobody_leaves_no_thread_and_no_socket_behind() -> None:
    (port,) = free_ports(1)
    lag = KafkaLag(f"127.0.0.1:{port}", within_s=1)
    threads = threading.active_count()
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            lag.read()
    assert threading.active_count() == threads


async def test_asking_a_proxy_whose_broker_is_away_leaves_none_behind_either() -> None:
    threads = {thread.name for thread in threading.enumerate()}
    with deaf_proxy() as address:
        lag = KafkaLag(address, within_s=0.3)
        for _ in range(3):
            with pytest.raises(KafkaError):
                lag.read()
        assert not [one for one in threading.enumerate() if "kafka" in one.name and one.name not in threads]


def read_again(lag: KafkaLag) -> object:
    try:
        return lag.read()
    except (KafkaError, OSError) as error:
        return error
