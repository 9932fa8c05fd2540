"""How long users felt a fault: outage (from its injection) and recovery time (from its heal).

Both end at the group's *lasting return*: the instant after which every rolling window of `KEPT_S`
seconds is good again, until the next fault or the end of the run. Rows are whole seconds, so the
instant inside the last bad second is read off the share of it that failed: with arrivals spread
evenly, a second of which 30 % failed was bad for 0.3 s.
"""

from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeAlias

import msgspec

from results.facts import KEPT_S, Facts
from results.faults import FaultLife
from results.measures import Window

BAD_ERROR_RATE = 0.05
"""A window counts as an outage from this error rate on."""

FEW_ERRORS = 3

IsGood: TypeAlias = Callable[[Window], bool]


class Recovery(msgspec.Struct):
    """What one fault did to one group. `kept` is False if the run ended before the return had lasted;
    the two lengths are then what was seen until the end, so at least that long."""

    fault: str
    on: str
    group: str
    outage_s: float
    recovery_s: float
    kept: bool
    watched_s: float
    """From the heal to the end of the watch."""


def below_5_percent(window: Window) -> bool:
    """One or two failed ops among many are no outage, however few `many` is."""
    if window.error_rate is None or window.error_rate < BAD_ERROR_RATE:
        return True
    return window.errors < FEW_ERRORS and 2 * window.errors < window.n


def recovery_of(
    facts: Facts, fault: FaultLife, group: str, is_good: IsGood = below_5_percent
) -> Recovery | None:
    """Measure one fault's effect on one group; None if the group had no ops after the fault began.

    The outage is always about errors; `is_good` says when the group counts as recovered.
    """
    begin, end = fault.injected_at, watch_end(facts, fault)
    heal = facts.end_s if fault.healed_at is None else fault.healed_at
    if facts.series.window(group, int(begin), end).n == 0:
        return None
    up = lasting_return(facts, group, begin, end, below_5_percent)
    back = up if is_good is below_5_percent else lasting_return(facts, group, begin, end, is_good)
    return Recovery(
        fault=fault.fault,
        on=fault.on,
        group=group,
        outage_s=(end if up is None else up) - begin,
        recovery_s=max(0.0, (end if back is None else back) - heal),
        kept=up is not None and back is not None and fault.healed_at is not None,
        watched_s=max(0.0, end - heal),
    )


def watch_end(facts: Facts, fault: FaultLife) -> float:
    """Until when a fault's effects can be told from others': next injection after its heal, or the end"""
    heal = facts.end_s if fault.healed_at is None else fault.healed_at
    later = [other.injected_at for other in facts.faults if other.injected_at >= heal and other is not fault]
    return min([facts.end_s, *later])


def lasting_return(facts: Facts, group: str, begin: float, end: float, is_good: IsGood) -> float | None:
    """The instant in [begin, end] from which the group stays good; None if it was not seen to last."""
    first, last = int(begin), int(end)
    bad = [
        second
        for second in range(first, max(first + 1, last - KEPT_S + 1))
        if not is_good(facts.series.window(group, second, min(second + KEPT_S, end)))
    ]
    if not bad:
        return begin
    back = max(begin, _end_of_errors(facts, group, bad[-1], begin))
    return back if back + KEPT_S <= end else None


def _end_of_errors(facts: Facts, group: str, last_bad: int, begin: float) -> float:
    """The instant at which the errors of the last bad window stopped.

    Its last second that failed about as much as those before it is found first; the share of that
    second, or of the next, that failed then says how far into it the errors went.
    """
    shares = {
        second: facts.series.window(group, second, second + 1).error_rate or 0.0
        for second in range(max(int(begin), last_bad - KEPT_S), last_bad + KEPT_S + 1)
    }
    failing = [share for second, share in shares.items() if share >= BAD_ERROR_RATE and second > begin]
    usual = median(failing) if len(failing) > 1 else 1.0
    final = _last_second(shares, last_bad - 1, max(BAD_ERROR_RATE, usual / 2))
    if final is None:
        final = _last_second(shares, last_bad, BAD_ERROR_RATE)
    if final is None:
        return last_bad + 1.0  # bad for another reason than errors (latency): no finer than a second
    this, following = (min(1.0, shares[second] / usual) for second in (final, final + 1))
    if following >= BAD_ERROR_RATE or this > 0.9:
        return final + 1 + following
    return max(final, begin) + this


def _last_second(shares: Mapping[int, float], first: int, bound: float) -> int | None:
    """The last of the seconds from `first` on whose share reaches `bound`; the very last is not asked."""
    seconds = [second for second in shares if first <= second < max(shares)]
    return max((second for second in seconds if shares[second] >= bound), default=None)
