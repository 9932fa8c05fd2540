"""How long users felt a fault: outage (from its injection) and recovery time (from its heal).

Both end at the group's *lasting return*: the instant after which every rolling window of `KEPT_S`
seconds is good again, until the next fault or the end of the run. Rows are whole seconds, so the
instant inside the last bad second is read off the share of it that failed: with arrivals spread
evenly, a second of which 30 % failed was bad for 0.3 s.
"""

from collections.abc import Callable
from statistics import median
from typing import TypeAlias

import msgspec

from results.facts import KEPT_S, Facts
from results.faults import FaultLife
from results.measures import Window

BAD_ERROR_RATE = 0.05
"""A window counts as an outage from this error rate on."""

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
    return window.error_rate is None or window.error_rate < BAD_ERROR_RATE


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
    back = max(begin, _end_of_errors(facts, group, bad[-1], first))
    return back if back + KEPT_S <= end else None


def _end_of_errors(facts: Facts, group: str, last_bad: int, first: int) -> float:
    """The instant within the last bad window at which its errors stopped.

    Its last second that failed about as much as those before it is found first; the shares of that
    second and of the next that failed then say how far into them the outage went.
    """
    shares = {
        second: facts.series.window(group, second, second + 1).error_rate or 0.0
        for second in range(max(first, last_bad - KEPT_S), last_bad + KEPT_S + 1)
    }
    failing = [share for second, share in shares.items() if share >= BAD_ERROR_RATE and second > first]
    usual = median(failing) if len(failing) > 1 else 1.0
    bound = max(BAD_ERROR_RATE, usual / 2)
    window = range(last_bad, last_bad + KEPT_S)
    final = max((second for second in window if shares[second] >= bound), default=None)
    if final is None:
        return last_bad + 1.0  # bad for another reason than errors (latency): no finer than a second
    return final + min(1.0, shares[final] / usual) + min(1.0, shares[final + 1] / usual)
