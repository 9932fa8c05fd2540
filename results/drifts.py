"""What creeps in a run: every gauge of every member, the latency of feed reads, the load generator itself.

Only runs that were watched for it, as a soak is, have drifts.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias

from results.drift import P_LIMIT, Bound, Drift, Point, drift_of
from results.history import GeneratorSecond, History, SeriesRow
from results.measures import Series

Records: TypeAlias = dict[tuple[str, str], list[Point]]
"""(member, measure) -> its points"""

BOUNDS: Final[dict[str, Bound]] = {
    "rss_mib": Bound(share=0.05, amount=8),
    "open_files": Bound(share=0.05, amount=8),
    "threads": Bound(share=0.05, amount=4),
    "kafka_lag": Bound(share=0.05, amount=50),
    "feed_outbox_pending": Bound(share=0.05, amount=20),
    "feed_size_max": Bound(share=0.05, amount=500),
    "latency_p95_ms": Bound(share=0.2, amount=20),
}
"""From when on growth matters. Feeds may fill up to their own bound of 500 entries."""

GROWS_WITH_ITS_DATA: Final = {
    ("rss_mib", "store"), ("rss_mib", "redis"), ("rss_mib", "kafka"), ("redis_used_mib", "redis"),
}  # fmt: skip
"""(measure, member): what holds the data that a soak writes grows with it. It is told, and not judged.
Where members are servers of their own, that is Mongo's too: `mongo1` ... hold the data themselves."""

FALSE_ALARMS: Final = 0.05
"""How likely it may be that any of all records of a steady soak is called rising or falling."""
_BIN_S: Final = 10


def drifts_of(history: History) -> list[Drift]:
    """The drifts of a run, worst first; empty if nobody watched for them."""
    if not history.run.for_drift:
        return []
    records = records_of(history)
    p_limit = min(P_LIMIT, FALSE_ALARMS / len(records))
    embedded = any(gauge.member == "store" for gauge in history.gauges)
    drifts = [
        _judged(drift_of(member, name, points, BOUNDS.get(name), p_limit), embedded=embedded)
        for (member, name), points in records.items()
    ]
    rank = {"rising": 0, "too short": 1, "falling": 2, "steady": 3}
    return sorted(drifts, key=lambda each: (not each.judged, rank[each.trend], each.name, each.member))


def _judged(drift: Drift, *, embedded: bool) -> Drift:
    holds_data = (drift.name, drift.member) in GROWS_WITH_ITS_DATA
    if not embedded and drift.name == "rss_mib" and drift.member.startswith("mongo"):
        holds_data = True
    drift.judged = not holds_data
    return drift


def records_of(history: History) -> Records:
    """Every record of a run, by who and what."""
    records: Records = defaultdict(list)
    for gauge in history.gauges:
        records[gauge.member, gauge.name].append((gauge.t, gauge.value))
    records.update(_generator(history.series))
    latency = _latency(history)
    if latency:
        records["feed reads", "latency_p95_ms"] = latency
    return dict(records)


def _generator(rows: Iterable[SeriesRow]) -> Records:
    """The memory of each worker of the swarm, where it was told."""
    records: Records = defaultdict(list)
    for row in rows:
        if isinstance(row, GeneratorSecond) and row.rss_mib > 0:
            records[f"swarm {row.worker}", "rss_mib"].append((float(row.t), row.rss_mib))
    return records


def _latency(history: History) -> list[Point]:
    series = Series(history.series)
    windows = series.bins("feed", 0, series.end_s, _BIN_S)
    found = ((window.from_s + _BIN_S / 2, window.quantile(0.95)) for window in windows)
    return [(at, value * 1000) for at, value in found if value is not None]
