"""The clocks of this process."""

import time
from datetime import UTC, datetime

_last_us = 0


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def next_version() -> int:
    """Microseconds since 1970, and never the same or an earlier number twice in one process."""
    global _last_us
    _last_us = max(_last_us + 1, time.time_ns() // 1_000)
    return _last_us


def utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
