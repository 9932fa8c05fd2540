"""The worst stretch of each phase: a minute's average hides ten bad seconds, a rolling window does not."""

from collections.abc import Iterable

import msgspec

from results.facts import KEPT_S, Facts
from results.history import PhaseName
from results.measures import Window
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
    """Windows with too few ops to mean anything are passed over, unless there are no others."""
    begin, end = facts.seconds_of(phase) or (0, 0)
    starts = range(begin, max(begin + 1, end - KEPT_S + 1))
    windows = [facts.series.window(group, start, min(start + KEPT_S, end)) for start in starts]
    windows = [window for window in windows if window.n >= MIN_OPS] or [w for w in windows if w.n]
    if not windows:
        return None
    worst = max(windows, key=_badness)
    return WorstWindow(
        group, phase, worst.from_s, worst.to_s, worst.error_rate or 0.0, worst.quantile(0.99), worst.n
    )


def _badness(window: Window) -> tuple[float, float]:
    return window.error_rate or 0.0, window.quantile(0.99) or 0.0
