"""Runs side by side: for each measure how it changed, how sure that is, and a plain word for it.

The interval of a change comes from a bootstrap: runs are drawn again from the repeated ones, and blocks
of seconds from each run. Where one side is a single run, nothing shows how much runs differ by
themselves, so a change has to be larger before it is called one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from random import Random
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from results import latency
from results.profile import OpBlock, Profile

RESAMPLES: Final = 200
CONFIDENCE: Final = 0.99
"""Of each interval; high, because some forty measures are looked at and none should differ by chance."""
ENOUGH_RUNS: Final = 3
MARGIN: Final = 1.10
MARGIN_SINGLE: Final = 1.5
"""Two runs of the same on a busy machine differ by a quarter; this leaves room."""
MIN_OPS: Final = 100
MIN_OPS_P99: Final = 300
MIN_SAMPLES: Final = 10

Word: TypeAlias = Literal["worse", "better", "no clear difference"]
WORDS: Final[tuple[Word, ...]] = ("worse", "better", "no clear difference")
Unit: TypeAlias = Literal["ms", "s", "%", "/s", ""]
DIFFERENCES: Final[tuple[Unit, ...]] = ("%", "")
"""Units of measures that are often 0, where a ratio says nothing: their change is a difference."""


class Rule(NamedTuple):
    """When a change counts: by at least this factor, and by more than is of interest to anybody."""

    margin: float
    smallest: float


RULES: Final[dict[Unit, Rule]] = {
    "ms": Rule(MARGIN_SINGLE, 2.0),
    "s": Rule(MARGIN_SINGLE, 0.05),
    "/s": Rule(MARGIN_SINGLE, 0.0),
    "%": Rule(1.0, 0.5),
    "": Rule(1.0, 0.0),
}
TIME_RULE: Final = Rule(1.5, 1.0)
TIME_RULE_SINGLE: Final = Rule(2.0, 5.0)
"""Outages and recovery times are one number a run, so less sure than any other."""


class Change(msgspec.Struct):
    """One measure on both sides. `change` is a ratio (b over a), or for `%` and counts a difference
    (b minus a); `low` and `high` are the ends of its interval, None where there is nothing to resample."""

    measure: str
    unit: Unit
    a: float
    b: float
    change: float | None
    low: float | None
    high: float | None
    word: Word

    @property
    def is_difference(self) -> bool:
        return self.unit in DIFFERENCES


class Comparison(msgspec.Struct):
    """Everything that two sides have in common. `warnings` say what makes the comparison doubtful."""

    a: list[str]
    b: list[str]
    changes: list[Change]
    warnings: list[str]

    @property
    def exit_code(self) -> int:
        """1 on a clear regression; 3 if there is nothing to compare or it is doubtful; else 0."""
        if any(change.word == "worse" for change in self.changes):
            return 1
        return 3 if self.warnings or not self.changes else 0


def compare(a: Sequence[Profile], b: Sequence[Profile], *, seed: int = 0) -> Comparison:
    """Compare two groups of repeated runs; a group can be a single run. The worst news come first."""
    rng = Random(seed)
    rules, times = RULES, RULES | {"s": TIME_RULE_SINGLE}
    if min(len(a), len(b)) >= ENOUGH_RUNS:
        rules = {unit: Rule(min(rule.margin, MARGIN), rule.smallest) for unit, rule in RULES.items()}
        times = rules | {"s": TIME_RULE}
    changes = [
        *_changes([p.ops for p in a], [p.ops for p in b], op_statistics, rules, rng),
        *_changes([p.staleness for p in a], [p.staleness for p in b], staleness_statistics, rules, rng),
        *_changes(_listed([p.times for p in a]), _listed([p.times for p in b]), time_statistics, times, rng),
        *_changes(
            _listed([p.counts for p in a]), _listed([p.counts for p in b]), count_statistics, rules, rng
        ),
    ]
    return Comparison(
        a=[profile.run for profile in a],
        b=[profile.run for profile in b],
        changes=sorted(changes, key=lambda change: WORDS.index(change.word)),
        warnings=_warnings(a, b),
    )


def _warnings(a: Sequence[Profile], b: Sequence[Profile]) -> list[str]:
    warnings = []
    for what in ("drill", "stack"):
        names = sorted({str(getattr(profile, what)) for profile in (*a, *b)})
        if len(names) > 1:
            warnings.append(f"these are different {what}s: {', '.join(names)}")
    for profile in (*a, *b):
        if profile.verdict == "invalid":
            why = profile.why[0] if profile.why else "nothing was judged"
            warnings.append(f"{profile.run} is invalid: {why}")
    return warnings


# -- statistics -----------------------------------------------------------------------------------


class Statistic(NamedTuple):
    """One number over some blocks or samples. `enough`: there are so many that it can be compared."""

    unit: Unit
    value: float | None
    enough: bool = True


Statistics: TypeAlias = dict[str, Statistic]


def op_statistics(blocks: Sequence[OpBlock]) -> Statistics:
    """Error rate, rate and latency of some blocks together."""
    n = sum(block.n for block in blocks)
    length_s = sum(block.seconds for block in blocks)
    ok = latency.merge(block.ok for block in blocks)
    succeeded = latency.count(ok)
    errors = 100 * sum(block.errors for block in blocks) / n if n else None
    return {
        ".error_rate": Statistic("%", errors, n >= MIN_OPS),
        ".rate": Statistic("/s", succeeded / length_s if length_s else None, n >= MIN_OPS),
        ".latency.p50": Statistic("ms", _ms(ok, 0.50), succeeded >= MIN_OPS),
        ".latency.p99": Statistic("ms", _ms(ok, 0.99), succeeded >= MIN_OPS_P99),
    }


def staleness_statistics(seconds: Sequence[float]) -> Statistics:
    """Median and p95, by nearest rank."""
    ordered = sorted(seconds)
    return {
        f".staleness.{name}": Statistic("s", _rank(ordered, q), len(ordered) >= MIN_SAMPLES)
        for name, q in (("p50", 0.50), ("p95", 0.95))
    }


def time_statistics(seconds: Sequence[float]) -> Statistics:
    return {"": Statistic("s", sum(seconds) / len(seconds))}


def count_statistics(counts: Sequence[float]) -> Statistics:
    return {"": Statistic("", sum(counts) / len(counts))}


def _rank(ordered: Sequence[float], q: float) -> float:
    return ordered[max(1, ceil(q * len(ordered))) - 1]


def _ms(buckets: latency.Buckets, q: float) -> float | None:
    seconds = latency.quantile(buckets, q)
    return None if seconds is None else seconds * 1000


# -- the bootstrap ---------------------------------------------------------------------------------

Runs: TypeAlias = Sequence[Mapping[str, Sequence[Any]]]
"""Of each run: key -> what can be drawn again (blocks, samples)."""
Of: TypeAlias = Callable[[Sequence[Any]], Statistics]


def _changes(
    a: Runs, b: Runs, statistics_of: Of, rules: Mapping[Unit, Rule], rng: Random
) -> Iterator[Change]:
    """The changes of every key that all runs of both sides have."""
    for key in a[0]:
        if not all(key in run for run in (*a, *b)):
            continue
        before, after = [run[key] for run in a], [run[key] for run in b]
        whole = statistics_of(_joined(before)), statistics_of(_joined(after))
        can_draw = max(map(len, (*before, *after, a, b))) > 1
        draws = [
            (statistics_of(_drawn(before, rng)), statistics_of(_drawn(after, rng)))
            for _ in range(RESAMPLES if can_draw else 0)
        ]
        for name, one in whole[0].items():
            other = whole[1][name]
            if one.value is None or other.value is None or not (one.enough and other.enough):
                continue
            pairs = [(drawn[name].value, others[name].value) for drawn, others in draws]
            yield _change(_measure(key, name), one.unit, (one.value, other.value), pairs, rules[one.unit])


def _joined(runs: Sequence[Sequence[Any]]) -> list[Any]:
    return [part for run in runs for part in run]


def _drawn(runs: Sequence[Sequence[Any]], rng: Random) -> list[Any]:
    """As many runs, and of each as many parts, drawn again with replacement."""
    chosen = rng.choices(runs, k=len(runs)) if len(runs) > 1 else runs
    return [part for run in chosen for part in rng.choices(run, k=len(run))]


def _measure(key: str, statistic: str) -> str:
    """`"feed in fault"` and `".latency.p99"` -> `"feed.latency.p99 in fault"`."""
    group, _, phase = key.partition(" in ")
    return f"{group}{statistic} in {phase}" if statistic else key


Pair: TypeAlias = tuple[float | None, float | None]


def _change(
    measure: str, unit: Unit, whole: tuple[float, float], draws: Sequence[Pair], rule: Rule
) -> Change:
    is_difference = unit in DIFFERENCES
    if unit == "":
        draws = ()  # one lost write is one too many, however the runs are drawn
    pairs = [(one, two) for one, two in draws if one is not None and two is not None]
    drawn = sorted(change for pair in pairs if (change := _of_two(*pair, is_difference)) is not None)
    low = high = None
    if len(drawn) > RESAMPLES // 2:
        tail = int(len(drawn) * (1 - CONFIDENCE) / 2)
        low, high = drawn[tail], drawn[-1 - tail]
    change = _of_two(*whole, is_difference)
    known = [each for each in (change, low, high) if each is not None]
    word: Word = "no clear difference" if draws and low is None else _word(unit, whole, known, rule)
    return Change(measure, unit, *whole, change, low, high, word)


def _of_two(a: float, b: float, is_difference: bool) -> float | None:
    if is_difference:
        return b - a
    return b / a if a > 0 else None


def _word(unit: Unit, whole: tuple[float, float], known: Sequence[float], rule: Rule) -> Word:
    """Worse or better only if all of the interval says so, and by more than matters."""
    a, b = whole
    if abs(b - a) <= rule.smallest:
        return "no clear difference"
    if not known:  # from nothing to something: there is no ratio
        more, less = True, False
    elif unit in DIFFERENCES:
        more, less = min(known) > rule.smallest, max(known) < -rule.smallest
    else:
        more, less = min(known) > rule.margin, max(known) < 1 / rule.margin
    if unit == "/s":
        more, less = less, more
    return "worse" if more else "better" if less else "no clear difference"


def _listed(runs: Sequence[Mapping[str, float]]) -> list[dict[str, list[float]]]:
    """Single numbers as parts that can be drawn, one a run."""
    return [{key: [value] for key, value in run.items()} for run in runs]
