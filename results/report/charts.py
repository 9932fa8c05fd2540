"""The data behind the charts of a report: series in bins, points, lanes and bands, ready to be drawn."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Final

import msgspec

from results.facts import Facts
from results.history import (
    Gauge,
    GeneratorSecond,
    History,
    MemberChange,
    StalenessPath,
    Topology,
)
from results.measures import GROUPS, Window

MOST_BINS: Final = 600
"""More points than this across do not show on a screen: longer runs get wider bins."""
GAUGE_TITLES: Final = {
    "kafka_lag": ("Kafka lag: records that a group of readers has not committed yet", "records"),
    "feed_outbox_pending": ("Owed: written, and not yet in every feed and counter", "marks"),
    "feed_size_max": ("The longest of some feeds", "entries"),
    "redis_used_mib": ("Memory, as Redis counts it", "MiB"),
    "rss_mib": ("Memory", "MiB"),
    "open_files": ("Open files", "files"),
    "threads": ("Threads", "threads"),
}
"""Gauge -> the title and the unit of its chart, in the order of the page."""
_HOLE_STEPS: Final = 2.5
"""Looks that failed leave a hole: more than this many times the usual step between two points."""


class Band(msgspec.Struct):
    """A stretch of the run to be shaded: a phase, or a fault in force."""

    label: str
    kind: str
    begin: float
    end: float


class GroupLines(msgspec.Struct):
    """One group of ops over time. Rates per second, latencies in milliseconds (None: no sample)."""

    group: str
    t: list[float]
    ok: list[float] = []
    shed: list[float] = []
    failed: list[float] = []
    unknown: list[float] = []
    p50: list[float | None] = []
    p90: list[float | None] = []
    p99: list[float | None] = []
    worst: list[float | None] = []
    failed_p50: list[float | None] = []
    why: list[str] = []


class StalenessPoints(msgspec.Struct):
    """The samples of one path: when acknowledged, how stale in seconds, and whether never seen."""

    path: StalenessPath
    t: list[float] = []
    seconds: list[float] = []
    breach: list[bool] = []


class Span(msgspec.Struct):
    state: str
    begin: float
    end: float


class Lane(msgspec.Struct):
    """One member through the run."""

    member: str
    spans: list[Span]


class GeneratorLines(msgspec.Struct):
    """All workers together, per second; `cpu` of the busiest, in cores."""

    t: list[int] = []
    planned: list[int] = []
    sent: list[int] = []
    cpu: list[float] = []


class GaugeLine(msgspec.Struct):
    """One member's gauge. None: there was a hole, and no line is drawn across it."""

    member: str
    t: list[float] = []
    value: list[float | None] = []


class GaugeChart(msgspec.Struct):
    name: str
    title: str
    unit: str
    lines: list[GaugeLine]


class Charts(msgspec.Struct):
    """Everything that `charts.js` draws."""

    end: float
    bin_s: int
    bands: list[Band]
    groups: list[GroupLines]
    staleness: list[StalenessPoints]
    lanes: list[Lane]
    generator: GeneratorLines
    gauges: list[GaugeChart]


def charts_of(history: History, facts: Facts) -> Charts:
    """Arrange a run for drawing."""
    end = max(1.0, facts.end_s)
    bin_s = max(1, ceil(end / MOST_BINS))
    return Charts(
        end=end,
        bin_s=bin_s,
        bands=list(_bands(facts)),
        groups=[lines for group in GROUPS if (lines := _group(facts, group, end, bin_s))],
        staleness=_staleness(facts),
        lanes=_lanes(facts, end),
        generator=_generator(history),
        gauges=_gauges(history.gauges),
    )


def _bands(facts: Facts) -> Iterator[Band]:
    for phase, (begin, end) in facts.phases.items():
        yield Band(phase, "phase", begin, end)
    for fault in facts.faults:
        begin, end = fault.in_force(facts.end_s)
        yield Band(fault.name, "fault", begin, end)


def _group(facts: Facts, group: str, end: float, bin_s: int) -> GroupLines | None:
    windows = facts.series.bins(group, 0, ceil(end), bin_s)
    if not any(window.n for window in windows):
        return None
    lines = GroupLines(group, [window.from_s for window in windows])
    for window in windows:
        _append(lines, window, bin_s)
    return lines


def _append(lines: GroupLines, window: Window, bin_s: int) -> None:
    lines.ok.append(round(window.ok / bin_s, 2))
    lines.shed.append(round(window.shed / bin_s, 2))
    lines.failed.append(round((window.failed - window.shed) / bin_s, 2))
    lines.unknown.append(round(window.unknown / bin_s, 2))
    for line, q in ((lines.p50, 0.5), (lines.p90, 0.9), (lines.p99, 0.99), (lines.worst, 1.0)):
        line.append(_ms(window.quantile(q)))
    lines.failed_p50.append(_ms(window.quantile(0.5, "failed")))
    lines.why.append(", ".join(f"{count}x {why}" for why, count in window.why.most_common(3)))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _staleness(facts: Facts) -> list[StalenessPoints]:
    points: dict[StalenessPath, StalenessPoints] = {}
    for sample in facts.staleness:
        if sample.outcome == "unknown" or sample.staleness_s is None:
            continue
        path = points.setdefault(sample.path, StalenessPoints(sample.path))
        path.t.append(round(sample.t, 3))
        path.seconds.append(round(sample.staleness_s, 4))
        path.breach.append(sample.outcome == "breach")
    return list(points.values())


def _lanes(facts: Facts, end: float) -> list[Lane]:
    """Members that changed or were attacked, each with its states; and who was primary."""
    changes: dict[str, list[tuple[float, str]]] = {}
    for event in facts.events:
        if isinstance(event, MemberChange):
            changes.setdefault(event.member, [(0.0, "running")]).append((event.t, event.state))
    primaries = [(event.t, event.primary or "none") for event in facts.events if isinstance(event, Topology)]
    lanes = [Lane(member, _spans(states, end)) for member, states in sorted(changes.items())]
    if primaries:
        lanes.insert(0, Lane("primary", _spans(primaries, end)))
    return lanes


def _spans(changes: Sequence[tuple[float, str]], end: float) -> list[Span]:
    ends = [*(t for t, _ in changes[1:]), max(end, changes[-1][0])]
    return [Span(state, begin, until) for (begin, state), until in zip(changes, ends, strict=True)]


def _generator(history: History) -> GeneratorLines:
    seconds: dict[int, list[GeneratorSecond]] = {}
    for row in history.series:
        if isinstance(row, GeneratorSecond):
            seconds.setdefault(row.t, []).append(row)
    lines = GeneratorLines()
    for second, rows in sorted(seconds.items()):
        lines.t.append(second)
        lines.planned.append(sum(row.planned for row in rows))
        lines.sent.append(sum(row.sent for row in rows))
        lines.cpu.append(round(max(row.cpu for row in rows), 3))
    return lines


def _gauges(gauges: Iterable[Gauge]) -> list[GaugeChart]:
    records: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for gauge in gauges:
        records.setdefault(gauge.name, {}).setdefault(gauge.member, []).append((gauge.t, gauge.value))
    ranks = {name: rank for rank, name in enumerate(GAUGE_TITLES)}
    return [
        GaugeChart(
            name, *GAUGE_TITLES.get(name, (name, name)), [_gauge_line(*each) for each in members.items()]
        )
        for name, members in sorted(records.items(), key=lambda record: ranks.get(record[0], len(ranks)))
    ]


def _gauge_line(member: str, points: Sequence[tuple[float, float]]) -> GaugeLine:
    line = GaugeLine(member)
    steps = [later - sooner for (sooner, _), (later, _) in pairwise(points)]
    hole_s = _HOLE_STEPS * median(steps) if steps else 0.0
    for (at, value), step in zip(points, [0.0, *steps], strict=True):
        if step > hole_s:
            line.t.append(round(at - step / 2, 2))
            line.value.append(None)
        line.t.append(round(at, 2))
        line.value.append(value)
    return line
