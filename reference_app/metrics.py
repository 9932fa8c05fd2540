"""What Prometheus is told. Requests by operation and status, and what the workers have before them."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """One process's metrics. Nothing is global, so that tests can have several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def gauge(self, name: str, about: str, read: Callable[[], float], **labels: str) -> None:
        """A gauge that is read when it is asked for."""
        gauge = Gauge(name, about, list(labels), registry=self.registry)
        (gauge.labels(**labels) if labels else gauge).set_function(read)


class RequestMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._latency = Histogram(
            "feed_request_seconds",
            "Time to answer, by operation and status.",
            ["operation", "status"],
            buckets=_BUCKETS,
            registry=metrics.registry,
        )
        self._shed = Counter("feed_shed", "Requests refused on purpose.", registry=metrics.registry)
        self._children: dict[tuple[str, int], Histogram] = {}

    def observe(self, operation: str, status: int, seconds: float) -> None:
        child = self._children.get((operation, status))
        if child is None:
            child = self._children[operation, status] = self._latency.labels(operation, str(status))
        child.observe(seconds)

    def shed(self) -> None:
        self._shed.inc()
