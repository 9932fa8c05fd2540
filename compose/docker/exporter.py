"""What no service says about itself, for Prometheus: who is primary, how far behind the readers of Kafka
are, which links are disturbed. Part of profile `observe`; it looks at the members directly, never through
the proxy.

    feedstorm_mongo_up{member}         1 while the member answers as primary or secondary
    feedstorm_mongo_primary{member}    1 on the member that says it is primary
    feedstorm_oldest_pending_post_seconds    how long the oldest post waits to reach its readers' feeds
    feedstorm_kafka_lag{group,topic}   records that the group has not committed yet
    feedstorm_link_fault{link}         1 while the link is cut or carries a toxic
    feedstorm_exporter_failures_total{what}
"""

import json
import os
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from prometheus_client import Counter, Gauge, start_http_server
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from compose.docker.replica_set import direct
from compose.kafka_lag import KafkaLag

PORT, EVERY_S, ASK_S = 8000, 2.0, 2.0

MONGO_UP = Gauge("feedstorm_mongo_up", "Answers as primary or secondary.", ["member"])
MONGO_PRIMARY = Gauge("feedstorm_mongo_primary", "Says that it is primary.", ["member"])
PENDING = Gauge("feedstorm_oldest_pending_post_seconds", "How long a post waits to reach feeds.")
KAFKA_LAG = Gauge("feedstorm_kafka_lag", "Records that a group has not committed yet.", ["group", "topic"])
LINK_FAULT = Gauge("feedstorm_link_fault", "Cut, or carries a toxic.", ["link"])
FAILURES = Counter("feedstorm_exporter_failures", "Looks that failed.", ["what"])


def disturbed(proxies: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    """Link -> whether it is cut or carries a toxic, from what Toxiproxy says of its proxies."""
    return {name: not held["enabled"] or bool(held["toxics"]) for name, held in proxies.items()}


def look_at_mongo(hosts: Iterable[str], database: str) -> None:
    for host in hosts:
        try:
            with direct(host) as client:
                said = client.admin.command("hello")
        except PyMongoError:
            said = {}
        primary = bool(said.get("isWritablePrimary"))
        MONGO_UP.labels(host).set(primary or bool(said.get("secondary")))
        MONGO_PRIMARY.labels(host).set(primary)
        if primary:
            PENDING.set(_age_of_oldest_pending(host, database))


def _age_of_oldest_pending(host: str, database: str) -> float:
    """Seconds since the oldest post was made that is not fanned out yet; 0 if there is none."""
    with direct(host) as client:
        found = client[database]["posts"].find_one({"outbox": "pending"}, sort=[("outboxDueAt", 1)])
    made = found["createdAt"] if found else None
    if not isinstance(made, datetime):
        return 0.0
    return max(0.0, (datetime.now(UTC) - made.replace(tzinfo=UTC)).total_seconds())


def look_at_links(url: str) -> None:
    request = urllib.request.Request(f"{url}/proxies", headers={"User-Agent": "feedstorm"})
    with urllib.request.urlopen(request, timeout=ASK_S) as answer:
        for name, is_disturbed in disturbed(json.load(answer)).items():
            LINK_FAULT.labels(name).set(is_disturbed)


def look_at_kafka(lag: KafkaLag) -> None:
    for (group, topic), records in lag.read().items():
        KAFKA_LAG.labels(group, topic).set(records)


def again_and_again(what: str, look: Callable[[], None], ended: threading.Event) -> None:
    """Look every two seconds until `ended`; a look that fails is counted, and no more than that."""
    while not ended.is_set():
        try:
            look()
        except Exception:  # whatever is broken here is what somebody is looking at
            FAILURES.labels(what).inc()
        ended.wait(EVERY_S)


def main() -> int:
    hosts = [f"{host}:{port}" for host, port in parse_uri(os.environ["FEED_MONGO_URI"])["nodelist"]]
    database = os.environ.get("FEED_MONGO_DATABASE", "feedstorm")
    proxy = os.environ["FEEDSTORM_TOXIPROXY_URL"]
    lag = KafkaLag(os.environ["FEED_KAFKA_BOOTSTRAP"], within_s=ASK_S)
    looks: dict[str, Callable[[], None]] = {
        "mongo": lambda: look_at_mongo(hosts, database),
        "links": lambda: look_at_links(proxy),
        "kafka": lambda: look_at_kafka(lag),
    }
    ended = threading.Event()
    for what, look in looks.items():
        threading.Thread(target=again_and_again, args=(what, look, ended), daemon=True).start()
    server, thread = start_http_server(PORT)
    thread.join()
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
