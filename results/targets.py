"""Targets and abort conditions: parsed from a drill's sentences, judged on a run's facts.

A target is judged in its phase alone. Too few samples is no verdict (`ok` None), never a pass; and the
comparison of an error rate is exact, so that 5 errors in 100 do miss `< 5%`.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import Final, cast

import msgspec

from results.facts import Facts
from results.grammar import Limit, Measure, parse_comparison
from results.history import PHASES, PhaseName, SeriesRow
from results.measures import Series, Window
from results.recovery import IsGood, below_5_percent, recovery_of
from results.words import number, plural, unknown_word

MIN_OPS: Final = 20
"""Fewer ops than this in a phase prove nothing about a rate or a latency."""
MIN_STALENESS: Final = 5
_IN_PHASE: Final = re.compile(r"(?P<rest>.*?)\s+in\s+(?P<phase>\S+)\s*")
_FOR: Final = re.compile(r"(?P<rest>.*?)\s+for\s+(?P<length>\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*")


class TargetResult(msgspec.Struct):
    """A judged target. `observed` and `limit` are in `unit`; `ok` is None if there was too little data,
    and `why` then says what was missing."""

    target: str
    phase: str
    observed: float | None
    limit: float
    unit: str
    ok: bool | None
    samples: int
    why: str = ""


class Observed(msgspec.Struct):
    """A measure's value in base units (exact where it can be), and what it rests on."""

    value: Fraction | float | None
    samples: int
    why_none: str = ""


class Target(msgspec.Struct, frozen=True):
    """A limit on a measure, in a phase; `phase` is None for recovery_time and outage."""

    text: str
    measure: Measure
    limit: Limit
    phase: PhaseName | None

    def evaluate(self, facts: Facts, beside: "Iterable[Target]" = ()) -> TargetResult:
        """Judge the target. `beside` are the drill's other targets: they say what recovered means."""
        if self.phase is None:
            return self._result(*self._over_faults(facts, beside))
        observed = observe(facts, self.measure, self.phase, self.limit)
        ok = None if observed.value is None else self.limit.holds(observed.value)
        return self._result(observed, ok)

    def in_baseline(self, facts: Facts) -> TargetResult | None:
        """The same measure before any fault, where that says whether the stack was healthy to begin with;
        None where it says nothing."""
        if self.phase not in ("fault", "recovery") or "baseline" not in facts.phases:
            return None
        return Target(self.text, self.measure, self.limit, "baseline").evaluate(facts)

    def _over_faults(self, facts: Facts, beside: "Iterable[Target]") -> tuple[Observed, bool | None]:
        """The worst fault decides. Not recovered in a watch shorter than the limit: no verdict."""
        group, is_recovery = self.measure.group, self.measure.kind == "recovery_time"
        is_good = recovery_rule(group, beside) if is_recovery else below_5_percent
        found = [recovery_of(facts, fault, group, is_good) for fault in facts.faults]
        measured = [each for each in found if each is not None]
        if not measured:
            return Observed(None, 0, "no fault was injected, or no op of the group followed one"), None
        worst = max(measured, key=lambda each: each.recovery_s if is_recovery else each.outage_s)
        length = worst.recovery_s if is_recovery else worst.outage_s
        if not worst.kept and self.limit.holds(length):
            why = f"still not back when the watch ended, {number(worst.watched_s)} s after the heal"
            return Observed(length, len(measured), why), None
        return Observed(length, len(measured)), self.limit.holds(length) and worst.kept

    def _result(self, observed: Observed, ok: bool | None) -> TargetResult:
        return TargetResult(
            target=self.text,
            phase=self.phase or "",
            observed=self.limit.in_unit(observed.value),
            limit=cast(float, self.limit.in_unit(self.limit.value)),
            unit=self.limit.unit,
            ok=ok,
            samples=observed.samples,
            why=observed.why_none,
        )


def parse_target(text: str) -> Target:
    """Parse `"feed.staleness.p99 < 5s in recovery"`.

    Raises:
        ValueError: one plain sentence that says which word is wrong.
    """
    match = _IN_PHASE.fullmatch(text)
    measure, limit = parse_comparison(match["rest"] if match else text)
    per_fault = measure.kind in ("recovery_time", "outage")
    if match is None:
        if not per_fault:
            raise ValueError(f"'{text}' does not say when: end it with 'in {'|'.join(PHASES)}'")
        return Target(" ".join(text.split()), measure, limit, None)
    phase = match["phase"]
    if per_fault:
        raise ValueError(f"'{text}': {measure} belongs to each fault, so it takes no 'in {phase}'")
    if phase not in PHASES:
        raise ValueError(f"in '{text}', " + unknown_word(phase, "phase", PHASES))
    return Target(" ".join(text.split()), measure, limit, phase)


def observe(facts: Facts, measure: Measure, phase: PhaseName, limit: Limit) -> Observed:
    """What a measure was in a phase; None if there were too few samples to hold it to `limit`."""
    window = facts.window(measure.group, phase)
    if phase not in facts.phases:
        return Observed(None, 0, f"the run never reached its {phase} phase")
    if measure.kind == "staleness":
        return _observe_staleness(facts, measure, phase)
    if window is None or window.n == 0:
        return Observed(None, 0, f"not one op of group {measure.group} in {phase}")
    samples = window.n if measure.kind != "latency" else window.ok
    needed = needed_ops(measure, limit)
    if samples < needed:
        what = "successful op" if measure.kind == "latency" else "op"
        return Observed(None, samples, f"only {plural(samples, what)} in {phase}, {needed} are needed")
    return Observed(_value_in(window, measure), samples)


def needed_ops(measure: Measure, limit: Limit) -> int:
    """Ops without which a limit proves nothing: 0 errors in 30 ops do not show a rate below 1 %."""
    if measure.kind == "rate":
        return 1
    if measure.kind == "error_rate" and 0 < limit.value < 1:
        return max(MIN_OPS, ceil(1 / limit.value))
    return MIN_OPS


def _value_in(window: Window, measure: Measure) -> Fraction | float | None:
    match measure.kind:
        case "error_rate":
            return window.error_share
        case "rate":
            return window.rate
        case "latency":
            return window.quantile(measure.q)
        case _:
            raise ValueError(f"{measure} is not measured in a window")


def _observe_staleness(facts: Facts, measure: Measure, phase: PhaseName) -> Observed:
    samples = facts.staleness_in(measure.group, phase)
    if samples.n == 0:
        undecided = f" ({samples.undecided} undecided)" if samples.undecided else ""
        return Observed(None, 0, f"not one staleness sample of {measure.group} in {phase}{undecided}")
    if samples.n < MIN_STALENESS:
        why = f"only {plural(samples.n, 'staleness sample')} in {phase}, {MIN_STALENESS} are needed"
        return Observed(None, samples.n, why)
    return Observed(samples.quantile(measure.q), samples.n)


def recovery_rule(group: str, targets: Iterable[Target]) -> IsGood:
    """When a rolling window of a group counts as recovered: below 5 % errors, and within the latency
    that the drill's targets ask of the group in recovery (where the window has enough ops to tell)."""
    latencies = [
        target
        for target in targets
        if target.phase == "recovery" and target.measure.kind == "latency" and target.measure.group == group
    ]

    def is_good(window: Window) -> bool:
        if not below_5_percent(window):
            return False
        if window.ok < MIN_OPS:
            return True
        return all(target.limit.holds(window.quantile(target.measure.q) or 0.0) for target in latencies)

    return is_good


# -- abort conditions -----------------------------------------------------------------------


class Condition:
    """`"all.error_rate > 90% for 20s"`, watched while a run goes on."""

    def __init__(self, text: str, measure: Measure, limit: Limit, for_s: float) -> None:
        self.text, self.measure, self.limit, self.for_s = text, measure, limit, for_s
        self._series = Series()

    def met(self, rows: Iterable[SeriesRow], now_s: float) -> str | None:
        """Take in the rows since the last call; what was observed if the condition is met, else None.

        It is met when it holds in every second of the last `for_s` that has ops, and the first of
        them has some. Seconds whose ops are all still under way say nothing yet.
        """
        self._series.add(rows)
        begin = int(now_s - self.for_s)
        self._series.forget(begin)
        if begin < 0:
            return None
        windows = [window for window in self._series.bins(self.measure.group, begin, int(now_s)) if window.n]
        if not windows or windows[0].from_s > begin:
            return None
        if not all(self._holds(window) for window in windows):
            return None
        whole = _value_in(self._series.window(self.measure.group, begin, int(now_s)), self.measure)
        value = self.limit.in_unit(whole)
        return f"{self.measure} was {number(value or 0.0)} {self.limit.unit} over {self.for_s:g} s"

    def _holds(self, window: Window) -> bool:
        value = _value_in(window, self.measure)
        return value is not None and self.limit.holds(value)


def parse_condition(text: str) -> Condition:
    """Parse `"all.error_rate > 90% for 20s"`.

    Raises:
        ValueError: one plain sentence that says which word is wrong.
    """
    match = _FOR.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' does not say for how long: end it with 'for 20s'")
    if match["unit"] != "s":
        raise ValueError(
            f"in '{text}', '{match['length']}{match['unit']}' is not a number of seconds, as in '20s'"
        )
    measure, limit = parse_comparison(match["rest"])
    if measure.kind not in ("error_rate", "latency", "rate"):
        raise ValueError(
            f"'{text}': {measure.kind} cannot be watched for an abort; error_rate, latency and rate can"
        )
    return Condition(" ".join(text.split()), measure, limit, float(match["length"]))
