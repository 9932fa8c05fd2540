"""What one process has sent: the counts that must agree with the server's own."""

import math
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from results.latency import Buckets, record

LATE_S: Final = 0.1
"""An op that is sent later than this after its intended start is counted as late."""
FROZEN_S: Final = 1.0
"""A process whose pulse stood still for longer was frozen or starved. What it measured meanwhile is
its own fault: such ops are abandoned, not taken for the server's latency."""


@dataclass
class Traffic:
    """Counters of one process. They only grow, apart from `in_flight`; `slip` is taken each second.

    `pulse` is when the process was last seen running (`beat`, ten times a second while a test runs);
    `thawed` when it last came back from standing still.
    """

    planned: int = 0
    sent: int = 0
    late: int = 0
    abandoned: int = 0
    in_flight: int = 0
    slip: Buckets = field(default_factory=dict)
    pulse: float = math.inf
    thawed: float = -math.inf

    def beat(self, now: float) -> None:
        if now - self.pulse > FROZEN_S:
            self.thawed = now
        self.pulse = now

    def is_spoiled(self, sent_at: float, now: float) -> bool:
        """Whether the process stood still between these two instants."""
        return sent_at < self.thawed or now - self.pulse > FROZEN_S

    def begin(self, slip_s: float | None) -> None:
        """An op is about to be sent, `slip_s` after its intended start; None: no arrival asked for it."""
        self.sent += 1
        self.in_flight += 1
        if slip_s is None:
            self.planned += 1
            return
        record(self.slip, slip_s)
        if slip_s > LATE_S:
            self.late += 1

    def end(self) -> None:
        self.in_flight -= 1

    def abandon(self) -> None:
        """An op in flight was cut off at the end of the run: neither success nor failure."""
        self.in_flight -= 1
        self.abandoned += 1

    def never_sent(self, ops: int) -> None:
        """Ops that were planned and could not be sent."""
        self.abandoned += ops

    def take_slip(self) -> Buckets:
        slip, self.slip = self.slip, {}
        return slip


_OF: "WeakKeyDictionary[Any, Traffic]" = WeakKeyDictionary()


def traffic_of(environment: Any) -> Traffic:
    """The counters that all clients of one Locust environment share."""
    return _OF.setdefault(environment, Traffic())
