"""The worst stretch of each phase: a minute's average hides ten bad seconds, a rolling window does not."""

from collections.abc import Iterable

import msgspec

from results.facts import KEPT_S, Facts
from results.history import PhaseName
from results.targets import MIN_OPS


class WorstWindow(msgspec.Struct):
    """The rolling window of `KEPT_S` seconds with the highest error rate of a group in a phase."""

    group: str
    phase: PhaseName
    from_s: float
    to_s: float
    error_rate: float
    latency_p99_s: float | None
    ops: int


def worst_windows(facts: Facts, groups: Iterable[str]) -> list[WorstWindow]:
    """One per group and phase, where the phase has ops."""
    groups = list(groups)
    found = (worst_window(facts, group, phase) for phase in facts.phases for group in groups)
    return [window for window in found if window is not None]


def worst_window(facts: Facts, group: str, phase: PhaseName) -> WorstWindow | None:
    """By error rate; where there are no errors, the one around the slowest second.

    Windows with too few ops to mean anything are passed over, unless there are no others.
    """
    begin, end = facts.seconds_of(phase) or (0, 0)
    starts = range(begin, max(begin + 1, end - KEPT_S + 1))
    windows = [facts.series.window(group, start, min(start + KEPT_S, end)) for start in starts]
    windows = [window for window in windows if window.n >= MIN_OPS] or [w for w in windows if w.n]
    if not windows:
        return None
    worst = max(windows, key=lambda window: window.error_rate or 0.0)
    if not worst.errors:
        seconds = facts.series.bins(group, begin, end)
        slowest = max(seconds, key=lambda second: second.quantile(1) or 0.0).from_s
        around = [window for window in windows if window.from_s <= slowest < window.to_s] or [worst]
        worst = max(around, key=lambda window: window.quantile(0.99) or 0.0)
    return WorstWindow(
        group, phase, worst.from_s, worst.to_s, worst.error_rate or 0.0, worst.quantile(0.99), worst.n
    )
