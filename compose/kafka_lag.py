"""How far the readers of Kafka are behind: records past what each group has committed, asked of the broker.

The broker is asked and not the readers, because lag matters most while a reader is dead or frozen. Tansu
0.6 takes the first record of the last batch for a partition's end: on the embedded stack the records after it
are not counted until another batch follows.
"""

import socket
import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from kafka import KafkaAdminClient, TopicPartition
from kafka.net.compat import KafkaNetClient

Offsets: TypeAlias = Mapping[TopicPartition, int]
ByGroup: TypeAlias = dict[tuple[str, str], int]
"""(group, topic) -> records"""

_BACKOFF_MS: Final = 500
_LATEST: Final = -1
"""The protocol's word for a partition's end."""


def lag_by_topic(committed: Offsets, ends: Offsets) -> dict[str, int]:
    """Records per topic between what was committed and the end; never below nothing.

    A partition without a commit was never read: all of it is lag, as readers begin at the beginning.
    """
    lag: dict[str, int] = defaultdict(int)
    for at, end in ends.items():
        lag[at.topic] += max(0, end - committed.get(at, 0))
    return dict(lag)


class KafkaLag:
    """Asks one broker as often as wanted, and leaves nothing behind once it is closed."""

    def __init__(self, bootstrap: str, *, within_s: float) -> None:
        self._bootstrap, self._within_ms = bootstrap, round(within_s * 1000)
        self._admin: Any = None
        self._using = threading.Lock()
        self._partitions: dict[str, list[TopicPartition]] = {}

    def read(self) -> ByGroup:
        """The lag of every group that has committed something.

        Raises KafkaError or OSError if the broker does not answer: at once if it is dead; if it is frozen,
        after the 10 s that kafka-python gives a new connection.
        """
        with self._using:
            return self._read()

    def close(self) -> None:
        """Waits for a read that is under way."""
        with self._using:
            if self._admin is not None:
                self._admin.close()
                self._admin = None

    def _read(self) -> ByGroup:
        if self._admin is None:
            self._admin = self._connected()
        groups = [str(group["group_id"]) for group in self._admin.list_groups()]
        found: ByGroup = {}
        for group, offsets in self._admin.list_group_offsets(groups).items() if groups else ():
            committed = {at: held.offset for at, held in offsets.items() if held.offset >= 0}
            for topic, records in lag_by_topic(committed, self._ends({at.topic for at in committed})).items():
                found[group, topic] = records
        return found

    def _connected(self) -> Any:
        """A client. Once made, it finds its broker again after any outage.

        One that cannot be made would leave its thread and sockets behind (kafka-python 3.0.12), and that a
        port takes connections does not say that there is a broker: a proxy may be in between.
        """
        within_s = self._within_ms / 1000
        host, port = self._bootstrap.split(",")[0].rsplit(":", 1)
        socket.create_connection((host, int(port)), timeout=within_s).close()
        clients: list[Any] = []

        def client(**configs: Any) -> Any:
            clients.append(KafkaNetClient(**configs))
            return clients[-1]

        try:
            return KafkaAdminClient(
                bootstrap_servers=self._bootstrap,
                reconnect_backoff_max_ms=_BACKOFF_MS,
                bootstrap_timeout_ms=self._within_ms,
                request_timeout_ms=self._within_ms,
                kafka_client=client,
            )
        except BaseException:
            for one in clients:
                one.close()
                one._net.stop(timeout_ms=self._within_ms)
            raise

    def _ends(self, topics: set[str]) -> Offsets:
        partitions = [at for topic in sorted(topics) for at in self._partitions_of(topic)]
        if not partitions:
            return {}
        latest = self._admin.list_partition_offsets(dict.fromkeys(partitions, _LATEST))
        return {at: held.offset for at, held in latest.items()}

    def _partitions_of(self, topic: str) -> list[TopicPartition]:
        if topic not in self._partitions:
            (described,) = self._admin.describe_topics([topic])
            self._partitions[topic] = [
                TopicPartition(topic, each["partition_index"]) for each in described["partitions"]
            ]
        return self._partitions[topic]
