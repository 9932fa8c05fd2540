"""Waits until nothing is under way in the stack any more: an audit before that judges what is merely late."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from results.audit.errors import ReadError
from results.audit.gauges import GaugeReading, read_gauges
from results.words import number

_RECORDS: Final = ("feed_backlog", "feed_outbox_pending")
_ASSIGNED: Final = "feed_partitions_assigned"
_PARTITIONS: Final = "feed_partitions"
_NAMES: Final = (*_RECORDS, _ASSIGNED, _PARTITIONS)
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
    read: Callable[[Sequence[str], Sequence[str]], Sequence[GaugeReading]] = read_gauges,
) -> Quiet:
    """Watch the workers' gauges until nothing is left, by workers that together read everything."""
    began = time.monotonic()
    since: float | None = None
    looks, last = 0, "no worker was named to ask"
    while worker_metrics:
        asked = time.monotonic() - began
        try:
            left = what_is_left(read(worker_metrics, _NAMES))
        except ReadError as error:
            left = last = str(error)
        else:
            last = f"{left} after {number(within_s)} s"
        if not left:
            looks, since = looks + 1, asked if since is None else since
            if looks >= LOOKS_IN_A_ROW:
                return Quiet(since)
        else:
            looks, since = 0, None
        if asked >= within_s:
            break
        time.sleep(every_s)
    return Quiet(None, last)


def what_is_left(readings: Iterable[GaugeReading]) -> str:
    """What is still under way by these gauges, in words; nothing if nothing is.

    Each worker counts what is in its own partitions, so the counts are all there is only while every
    partition is somebody's: not while a group forms. A worker more than there are partitions has none, and
    that is well.
    """
    records = 0.0
    assigned: dict[str, float] = defaultdict(float)
    partitions: dict[str, float] = {}
    for name, kind, value in readings:
        if name in _RECORDS:
            records += value
        elif name == _ASSIGNED:
            assigned[kind] += value
        else:
            partitions[kind] = max(value, partitions.get(kind, value))
    for kind, count in sorted(partitions.items()):
        if not count or assigned[kind] != count:
            of = number(count) if count else "an unknown number of"
            return f"{number(assigned[kind])} of {of} partitions are read by the {kind} workers"
    if records == 0:
        return ""
    return f"{'an unknown number of' if math.isnan(records) else number(records)} records still under way"
