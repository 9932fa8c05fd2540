"""A token bucket as a function of time: how many requests the fallback may take a second.

Own code: the libraries for this keep their state in threads, clocks or stores of their own, and it is
ten lines.
"""


class TokenBucket:
    """Gives out `rate` tokens a second, and up to `burst` at once after a quiet time."""

    def __init__(self, rate: float, burst: float | None = None) -> None:
        self.rate = rate
        self.burst = max(1.0, rate if burst is None else burst) if rate > 0 else 0.0
        self._tokens, self._at = self.burst, float("-inf")

    def take(self, now: float) -> bool:
        """Take a token at `now` (seconds of any steady clock); False if there is none left."""
        if now > self._at:
            if self._at != float("-inf"):
                self._tokens = min(self.burst, self._tokens + (now - self._at) * self.rate)
            self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
