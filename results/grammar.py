"""The words of targets and abort conditions: `<measure> <comparison> <limit>`.

feed.error_rate < 5%                 share of ops that a user saw fail
writes.latency.p99 < 800ms           of the successful ops, from the intended start
all.rate > 50/s                      successful ops per second
feed.staleness.p99 < 5s              also push, celebrity, likes (like_count), follows (follow_count)
writes.recovery_time < 15s           heal -> the group's targets are met and kept; the slowest fault
writes.outage < 12s                  injection -> lasting return below 5 % errors; the longest fault
"""

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import msgspec

from results.measures import GROUPS
from results.staleness import PATHS_OF
from results.words import unknown_word

Kind: TypeAlias = Literal["error_rate", "latency", "rate", "staleness", "recovery_time", "outage"]
KINDS: Final[tuple[Kind, ...]] = ("error_rate", "latency", "rate", "staleness", "recovery_time", "outage")
STATS: Final = {
    "latency": {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "max": 1.0},
    "staleness": {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "max": 1.0},
}
COMPARISONS: Final[dict[str, Callable[[Fraction | float, Fraction], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_DURATIONS: Final = {"ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60)}
_UNITS: Final[dict[Kind, dict[str, Fraction]]] = {
    "error_rate": {"%": Fraction(1, 100)},
    "rate": {"/s": Fraction(1)},
    "latency": _DURATIONS,
    "staleness": _DURATIONS,
    "recovery_time": _DURATIONS,
    "outage": _DURATIONS,
}
_SHAPE: Final = re.compile(r"\s*(?P<measure>[^\s<>=]+)\s*(?P<comparison><=|>=|<|>)\s*(?P<limit>.+?)\s*")
_LIMIT: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[%/a-z]*)")


class Measure(msgspec.Struct, frozen=True):
    """What is measured: of which group, what, and which statistic of it (`""` where there is only one)."""

    group: str
    kind: Kind
    stat: str = ""

    def __str__(self) -> str:
        return ".".join(part for part in (self.group, self.kind, self.stat) if part)

    @property
    def q(self) -> float:
        """The quantile that the statistic names (0..1)."""
        return STATS[self.kind][self.stat]


class Limit(msgspec.Struct, frozen=True):
    """A comparison with a number. `value` is exact and in base units (a share, seconds, 1/s)."""

    comparison: str
    value: Fraction
    unit: str
    scale: Fraction
    """One `unit` in base units."""

    def holds(self, observed: Fraction | float) -> bool:
        return COMPARISONS[self.comparison](observed, self.value)

    def in_unit(self, base: Fraction | float | None) -> float | None:
        """A value in base units, as a number of `unit`."""
        return None if base is None else float(base / self.scale)

    @property
    def wants_less(self) -> bool:
        return self.comparison.startswith("<")


def parse_comparison(text: str) -> tuple[Measure, Limit]:
    """Parse `"feed.error_rate < 5%"`.

    Raises:
        ValueError: one plain sentence that says which word is wrong.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not '<measure> < <limit>', as in 'feed.error_rate < 5%'")
    measure = parse_measure(match["measure"])
    return measure, _parse_limit(match["comparison"], match["limit"], measure)


def parse_measure(text: str) -> Measure:
    """Parse `"feed.latency.p99"`. Raises ValueError with one plain sentence."""
    group, _, rest = text.partition(".")
    kind, _, stat = rest.partition(".")
    if kind not in KINDS:
        raise ValueError(f"in '{text}', " + unknown_word(kind, "measure", KINDS))
    groups = tuple(PATHS_OF) if kind == "staleness" else GROUPS
    if group not in groups:
        raise ValueError(f"in '{text}', " + unknown_word(group, f"group for {kind}", groups))
    stats = STATS.get(kind, {})
    if stats and stat not in stats:
        raise ValueError(f"in '{text}', " + unknown_word(stat, f"statistic of {kind}", stats))
    if stat and not stats:
        raise ValueError(f"in '{text}', '{stat}' is too much: {group}.{kind} is one number")
    return Measure(group, kind, stat)


def _parse_limit(comparison: str, text: str, measure: Measure) -> Limit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not a limit for {measure}: write a number and its unit, as in '5s'")
    units = _UNITS[measure.kind]
    unit = match["unit"]
    if unit not in units:
        raise ValueError(f"'{text}' is not a limit for {measure}: its unit is {' or '.join(units)}")
    return Limit(comparison, Fraction(match["number"]) * units[unit], unit, units[unit])
