"""What a group of ops did in a stretch of the run: counts, error rate, latency, by merging series rows.

A `Series` holds the rows by second; a `Window` is the sum of some of them. Both are pure and grow
incrementally: the live view adds rows as they are written and asks for the last seconds only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Final, Literal, TypeAlias

from results import latency
from results.history import OpSecond, OutcomeName, SeriesRow
from results.latency import Buckets

GROUPS: Final = ("feed", "likes", "follows", "posts", "comments", "reads", "writes", "all")
PROBE_USER: Final = "staleness_probe"
"""The user class whose ops are measurement, not load: they are left out of every window."""

LatencyOf: TypeAlias = OutcomeName | Literal["all", "service"]


@cache
def groups_of(op: str) -> frozenset[str]:
    """The groups that an op belongs to, by its name: `"PUT /posts/{id}/like"` -> likes, writes, all."""
    method, _, path = op.partition(" ")
    groups = {"all", "reads" if method == "GET" else "writes"}
    parts = path.split("/")
    if path == "/feed":
        groups.add("feed")
    elif "like" in parts or "likes" in parts:
        groups.add("likes")
    elif not {"following", "followers", "relationship"}.isdisjoint(parts):
        groups.add("follows")
    elif "comments" in parts:
        groups.add("comments")
    elif "posts" in parts:
        groups.add("posts")
    return frozenset(groups)


@dataclass(slots=True)
class OpCounts:
    """One op in one second, all workers and users together."""

    ok: int = 0
    failed: int = 0
    unknown: int = 0
    shed: int = 0
    stale: int = 0
    why: Counter[str] = field(default_factory=Counter)
    latencies: dict[LatencyOf, Buckets] = field(default_factory=dict)

    def add(self, row: OpSecond) -> None:
        self.ok += self._take("ok", row.ok)
        self.failed += self._take("failed", row.failed)
        self.unknown += self._take("unknown", row.unknown)
        self._take("service", row.service)
        self.shed += row.shed
        self.stale += row.stale
        if row.why:
            self.why.update(row.why)

    def _take(self, of: LatencyOf, buckets: Buckets) -> int:
        if buckets:
            self.latencies[of] = latency.merge((self.latencies.get(of, {}), buckets))
        return sum(buckets.values())


class Window:
    """What became of one group's ops that were meant to start in [`from_s`, `to_s`).

    `shed` are the deliberate 503s among `failed`; `stale` the answers that admitted to be stale;
    `why` counts the errors by category. Counting is quick; latencies are merged when they are asked for.
    """

    def __init__(self, group: str, from_s: float, to_s: float, parts: Iterable[OpCounts] = ()) -> None:
        self.group, self.from_s, self.to_s = group, from_s, to_s
        self._parts = list(parts)
        self.ok = self.failed = self.unknown = self.shed = self.stale = 0
        for part in self._parts:
            self.ok += part.ok
            self.failed += part.failed
            self.unknown += part.unknown
            self.shed += part.shed
            self.stale += part.stale

    @property
    def n(self) -> int:
        return self.ok + self.failed + self.unknown

    @property
    def errors(self) -> int:
        """Ops that a user saw fail: the failed and the unknown ones."""
        return self.failed + self.unknown

    @property
    def error_share(self) -> Fraction | None:
        """The error rate without rounding, so that exactly 5 % is never less than 5 %."""
        return Fraction(self.errors, self.n) if self.n else None

    @property
    def error_rate(self) -> float | None:
        """Errors over ops (0..1); None without ops."""
        return self.errors / self.n if self.n else None

    @property
    def rate(self) -> float:
        """Ops that succeeded, per second."""
        return self.ok / (self.to_s - self.from_s) if self.to_s > self.from_s else 0.0

    @property
    def why(self) -> Counter[str]:
        return sum((part.why for part in self._parts if part.why), Counter())

    def quantile(self, q: float, of: LatencyOf = "ok") -> float | None:
        """Latency in seconds from the intended start; of the successful ops, unless said otherwise.

        `of="service"` counts from the actual send, whatever the outcome.
        """
        return latency.quantile(self.histogram(of), q)

    def histogram(self, of: LatencyOf) -> Buckets:
        """All latencies of one outcome, or of every one (`"all"`)."""
        kinds: tuple[LatencyOf, ...] = ("ok", "failed", "unknown") if of == "all" else (of,)
        return latency.merge(
            part.latencies[kind] for part in self._parts for kind in kinds if kind in part.latencies
        )


class Series:
    """The ops of a run by second, without those of the staleness probe."""

    def __init__(self, rows: Iterable[SeriesRow] = ()) -> None:
        self._seconds: dict[int, dict[str, OpCounts]] = {}
        self.add(rows)

    def add(self, rows: Iterable[SeriesRow]) -> None:
        for row in rows:
            if isinstance(row, OpSecond) and row.user != PROBE_USER:
                ops = self._seconds.setdefault(row.t, {})
                counts = ops.get(row.op)
                if counts is None:
                    counts = ops[row.op] = OpCounts()
                counts.add(row)

    def forget(self, before_s: float) -> None:
        """Drop the seconds before `before_s`, so that a long watch stays small."""
        for second in [second for second in self._seconds if second < before_s]:
            del self._seconds[second]

    @property
    def end_s(self) -> int:
        """The first second after the last row; 0 without rows."""
        return max(self._seconds, default=-1) + 1

    @property
    def ops(self) -> list[str]:
        """The names of the ops that occur, sorted."""
        return sorted({op for ops in self._seconds.values() for op in ops})

    def window(self, group: str, from_s: float, to_s: float) -> Window:
        """The ops of `group` whose second lies in [`from_s`, `to_s`). `group` can also be an op's name."""
        return Window(group, from_s, to_s, self._parts(group, from_s, to_s))

    def bins(self, group: str, from_s: int, to_s: int, width_s: int = 1) -> list[Window]:
        """Consecutive windows of `width_s` seconds that cover [`from_s`, `to_s`)."""
        starts = range(from_s, to_s, width_s)
        return [self.window(group, start, min(start + width_s, to_s)) for start in starts]

    def _parts(self, group: str, from_s: float, to_s: float) -> Iterator[OpCounts]:
        for second in range(max(ceil(from_s), 0), ceil(to_s)):
            for op, counts in self._seconds.get(second, {}).items():
                if op == group or group in groups_of(op):
                    yield counts
