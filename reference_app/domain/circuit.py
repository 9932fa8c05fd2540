"""A circuit breaker as a state machine of (time, what happened): no clock, no threads, no I/O.

Own code: the libraries for this wrap calls and read the clock themselves, so their rules cannot be
tested without waiting.
"""


class Circuit:
    """Refuses calls to a store that fails; lets one try through every `probe_every_s` seconds."""

    def __init__(self, *, open_after: int = 3, probe_every_s: float = 1.0) -> None:
        self.open_after, self.probe_every_s = open_after, probe_every_s
        self._failures = 0
        self._next_probe = 0.0

    @property
    def is_open(self) -> bool:
        return self._failures >= self.open_after

    def allows(self, now: float) -> bool:
        """May a call be made at `now`? While open, the call that is let through is the probe."""
        if not self.is_open:
            return True
        if now < self._next_probe:
            return False
        self._next_probe = now + self.probe_every_s
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, now: float) -> None:
        self._failures += 1
        if self._failures == self.open_after:
            self._next_probe = now + self.probe_every_s

    def retry_after_s(self, now: float) -> float:
        """How long a refused caller had better wait."""
        return max(0.0, self._next_probe - now) if self.is_open else 0.0
