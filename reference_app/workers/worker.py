"""A worker: something that works until it is told to stop, and says how much it has before it."""

from typing import Protocol

from reference_app.metrics import Metrics


class Worker(Protocol):
    def start(self) -> None:
        """Begin; returns at once."""

    async def close(self) -> None:
        """Finish what is in hand, within a bound."""

    async def ready(self) -> None:
        """Returns if the worker can do its work now, else raises with the reason."""

    def measure(self, metrics: Metrics) -> None:
        """Add this worker's gauges."""


class NotReadyError(Exception):
    """The message says what is missing."""
