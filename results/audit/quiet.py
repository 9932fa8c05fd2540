"""Waits until nothing is under way in the stack any more: an audit before that judges what is merely late."""

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from results.audit.api_reader import gauge_total
from results.audit.errors import ReadError
from results.words import number

UNDER_WAY: Final = ("feed_backlog", "feed_outbox_pending")
LOOKS_IN_A_ROW: Final = 3
"""A record can be between two gauges for a moment: quiet is quiet only when seen this often."""


class Quiet(msgspec.Struct):
    """`after_s`: how long it took; None if it never came or could not be seen, and `under_way` says why."""

    after_s: float | None
    under_way: str = ""


def wait_quiet(
    worker_metrics: Sequence[str],
    *,
    within_s: float,
    every_s: float = 0.2,
    read: Callable[[Sequence[str], Sequence[str]], float] = gauge_total,
) -> Quiet:
    """Watch the workers' gauges until they are all 0."""
    began = time.monotonic()
    since: float | None = None
    looks, last = 0, "no worker was named to ask"
    while worker_metrics:
        asked = time.monotonic() - began
        try:
            left = read(worker_metrics, UNDER_WAY)
        except ReadError as error:
            left, last = -1.0, str(error)
        else:
            known = f"{number(left)} records" if left == left else "an unknown number of records"
            last = f"{known} still under way after {number(within_s)} s"
        if left == 0:
            looks, since = looks + 1, asked if since is None else since
            if looks >= LOOKS_IN_A_ROW:
                return Quiet(since)
        else:
            looks, since = 0, None
        if asked >= within_s:
            break
        time.sleep(every_s)
    return Quiet(None, last)
