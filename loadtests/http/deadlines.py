"""Time-outs of all ops in flight, kept by one greenlet: a timer per op would cost a tenth of the op."""

import time
from typing import Final, Protocol

import gevent

LOOK_EVERY_S: Final = 0.02
"""An op may outlive its deadline by this much."""


class Expires(Protocol):
    def expire(self) -> None:
        """The deadline has passed: stop waiting at once."""


class Deadlines:
    """The greenlet runs only while anything is in flight."""

    def __init__(self) -> None:
        self._due: dict[Expires, float] = {}
        self._greenlet: gevent.Greenlet | None = None

    def set(self, what: Expires, at: float) -> None:
        """`at` is an instant of `time.monotonic()`."""
        self._due[what] = at
        if self._greenlet is None:
            self._greenlet = gevent.spawn(self._watch)

    def clear(self, what: Expires) -> None:
        self._due.pop(what, None)

    def _watch(self) -> None:
        idle_looks = 0
        while idle_looks < 100:
            gevent.sleep(LOOK_EVERY_S)
            idle_looks = 0 if self._due else idle_looks + 1
            now = time.monotonic()
            for what in [what for what, at in self._due.items() if at <= now]:
                self.clear(what)
                what.expire()
        self._greenlet = None
