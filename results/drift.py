"""Does a measure creep? A robust trend for memory, open files, latency, lag and feed sizes.

Hard passage ahead; the thoughts in it:

* *Warm-up is not a leak.* Whatever a process fills once (caches, pools, code) is over early, so the first
  part of the record is not looked at.
* *A sawtooth is not a leak.* Garbage and buffers grow and are given back. What must grow in a leak is what
  is left after giving back, so the record is cut into blocks and each is represented by a low value.
  A step that a fault has made is one block's business too.
* *A slow leak is one.* The slope is Theil and Sen's (the median of all slopes between two blocks), which a
  few wild blocks do not move; Mann and Kendall's test says whether blocks rise more often than chance
  would have it. Both must agree, and the growth must matter: by share, and by an absolute least amount.
* *Too short says so.* With few blocks, or a record shorter than the bound, there is no opinion.

Sources: Theil 1950, Sen 1968 (slope); Mann 1945, Kendall 1975 (test, normal approximation with the
correction for ties).
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist, median
from typing import Final, Literal, TypeAlias

import msgspec

from results.words import number

Trend: TypeAlias = Literal["steady", "rising", "falling", "too short"]

WARM_UP: Final = 0.25
"""The share of a record that is passed over, at most `WARM_UP_MAX_S`."""
WARM_UP_MAX_S: Final = 1800.0
BLOCKS: Final = 12
MIN_BLOCKS: Final = 8
MIN_WATCHED_S: Final = 120.0
"""Less than two minutes after the warm-up show the weather, not the climate."""
P_LIMIT: Final = 0.01
LOW: Final = 0.25
"""A block is represented by its lower quartile: what is left after giving back."""


class Bound(msgspec.Struct, frozen=True):
    """From when on growth matters: both the share of the level, and the amount, over the watched time."""

    share: float = 0.05
    amount: float = 0.0


class Drift(msgspec.Struct):
    """What became of one measure of one member. `per_hour` is in the measure's own unit.

    `from_level` and `to_level` are the ends of the fitted line; `p` is how likely such a trend is by chance.
    `judged` is False for what may grow: it is told, and counts for nothing.
    """

    member: str
    name: str
    trend: Trend
    why: str
    per_hour: float | None = None
    from_level: float | None = None
    to_level: float | None = None
    p: float | None = None
    watched_s: float = 0.0
    samples: int = 0
    judged: bool = True


Point: TypeAlias = tuple[float, float]
"""(seconds, value)"""


def drift_of(
    member: str, name: str, points: Sequence[Point], bound: Bound | None = None, p_limit: float = P_LIMIT
) -> Drift:
    """The opinion on one record. Points may come in any order; pure.

    `p_limit`: from when on a trend is no chance. Whoever looks at many records has to ask for less, or
    one of them will creep by chance.
    """
    watched = after_warm_up(sorted(points))
    length = watched[-1][0] - watched[0][0] if watched else 0.0
    blocks = blocks_of(watched)
    drift = Drift(member, name, "too short", "", watched_s=length, samples=len(watched))
    if length < MIN_WATCHED_S or len(blocks) < MIN_BLOCKS:
        drift.why = (
            f"too short to judge: {number(length)} s and {len(blocks)} blocks after the warm-up, "
            f"{number(MIN_WATCHED_S)} s and {MIN_BLOCKS} are needed"
        )
        return drift
    _judge(drift, blocks, bound or Bound(), p_limit)
    return drift


def _judge(drift: Drift, blocks: Sequence[Point], bound: Bound, p_limit: float) -> None:
    slope = theil_sen(blocks)
    p = mann_kendall(blocks)
    middle = median(value for _, value in blocks) - slope * median(at for at, _ in blocks)
    drift.from_level, drift.to_level = middle + slope * blocks[0][0], middle + slope * blocks[-1][0]
    drift.per_hour, drift.p = slope * 3600, p
    growth = drift.to_level - drift.from_level
    needed = max(abs(drift.from_level) * bound.share, bound.amount)
    told = f"from {number(drift.from_level)} to {number(drift.to_level)} in {number(drift.watched_s)} s"
    if p <= p_limit and abs(growth) > needed:
        drift.trend = "rising" if growth > 0 else "falling"
        drift.why = (
            f"{told}, {number(abs(drift.per_hour))} an hour; by chance in {number(p * 100)} % of cases"
        )
        return
    drift.trend = "steady"
    no_trend = "no trend" if p > p_limit else f"less than {number(needed)} of growth"
    drift.why = f"{told}: {no_trend}"


def after_warm_up(points: Sequence[Point]) -> Sequence[Point]:
    """The record without its first quarter (of time), or half an hour if that is less."""
    if not points:
        return points
    begin, end = points[0][0], points[-1][0]
    cut = begin + min((end - begin) * WARM_UP, WARM_UP_MAX_S)
    return [point for point in points if point[0] >= cut]


def blocks_of(points: Sequence[Point]) -> list[Point]:
    """Up to `BLOCKS` stretches of equal length, each as (its middle, its low value), without empty ones."""
    if len(points) < 2:
        return list(points)
    begin, end = points[0][0], points[-1][0]
    width = (end - begin) / BLOCKS
    if width == 0:
        return [points[0]]
    stretches: list[list[float]] = [[] for _ in range(BLOCKS)]
    for at, value in points:
        stretches[min(BLOCKS - 1, int((at - begin) / width))].append(value)
    return [(begin + (index + 0.5) * width, _low(values)) for index, values in enumerate(stretches) if values]


def _low(values: Sequence[float]) -> float:
    return sorted(values)[int((len(values) - 1) * LOW)]


def theil_sen(points: Sequence[Point]) -> float:
    """The median of the slopes between every two points, per second. Needs two points at different times."""
    slopes = [
        (later - earlier) / (end - begin)
        for (begin, earlier), (end, later) in combinations(points, 2)
        if end != begin
    ]
    return median(slopes)


def mann_kendall(points: Sequence[Point]) -> float:
    """Two-sided p of "no trend", by the normal approximation, corrected for ties. Needs 8 points or so."""
    values = [value for _, value in points]
    score = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    n = len(values)
    ties = [values.count(value) for value in set(values)]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if score == 0 or variance <= 0:
        return 1.0
    z = (abs(score) - 1) / math.sqrt(variance)
    return 2 * (1 - NormalDist().cdf(z))
