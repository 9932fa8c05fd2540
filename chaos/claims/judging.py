"""From samples to an opinion. Pure: the same samples always give the same opinion.

A comparison *holds* if the whole 95 % interval of the ratio of medians lies at or above the claimed
factor and the intervals of the two medians are apart; it *does not hold here* if the whole interval lies
below; everything between is *cannot be shown here*: another run might say the opposite.
"""

import math
import random
from collections.abc import Callable, Sequence
from statistics import median

from chaos.claims.evidence import (
    Claim,
    Comparison,
    Evidence,
    Finding,
    Interval,
    Measured,
    Opinion,
)
from results.words import number, seconds

MIN_SAMPLES = 5
_RESAMPLES = 2000
_TAIL = 0.025


def judge(claim: Claim, evidence: Evidence, took_s: float) -> Finding:
    """The finding: the worst opinion of all comparisons and checks, with every reason."""
    measured = [measure(comparison) for comparison in evidence.comparisons]
    opinions = [each.opinion for each in measured]
    reasons = [each.why for each in measured]
    for check in evidence.checks:
        opinions.append(_of_check(check.ok))
        reasons.append(check.text)
    return Finding(
        claim=claim.name,
        says=claim.says,
        opinion=overall(opinions),
        reasons=[*reasons, *evidence.notes],
        measured=measured,
        charts=evidence.charts,
        rates=evidence.rates,
        took_s=took_s,
    )


def cannot_show(claim: Claim, why: str, took_s: float) -> Finding:
    return Finding(claim.name, claim.says, Opinion.CANNOT_BE_SHOWN, [why], took_s=took_s)


def overall(opinions: Sequence[Opinion]) -> Opinion:
    """One part that does not hold sinks the claim; without any part nothing was shown."""
    if Opinion.DOES_NOT_HOLD in opinions:
        return Opinion.DOES_NOT_HOLD
    if not opinions or Opinion.CANNOT_BE_SHOWN in opinions:
        return Opinion.CANNOT_BE_SHOWN
    return Opinion.HOLDS


def measure(comparison: Comparison) -> Measured:
    """Intervals of both medians and of their ratio, and what they say."""
    cheap, dear = comparison.cheap.values, comparison.dear.values
    ratio = interval_of_ratio(dear, cheap)
    apart = _interval(cheap), _interval(dear)
    opinion, why = _opinion(comparison, ratio, *apart)
    return Measured(
        what=comparison.what,
        cheap=comparison.cheap,
        dear=comparison.dear,
        at_least=comparison.at_least,
        cheap_interval=apart[0],
        dear_interval=apart[1],
        ratio=ratio,
        opinion=opinion,
        why=why,
    )


def interval_of_ratio(above: Sequence[float], below: Sequence[float]) -> Interval:
    """The 95 % interval of median(above) / median(below), by resampling both."""
    if not above or not below:
        return Interval(math.nan, math.nan, math.nan)
    rng = random.Random("ratio")
    return _bootstrap(
        lambda: _divide(_resampled_median(above, rng), _resampled_median(below, rng)),
        _divide(median(above), median(below)),
    )


def _interval(values: Sequence[float]) -> Interval:
    if not values:
        return Interval(math.nan, math.nan, math.nan)
    rng = random.Random("median")
    return _bootstrap(lambda: _resampled_median(values, rng), median(values))


def _bootstrap(draw: Callable[[], float], middle: float) -> Interval:
    draws = sorted(draw() for _ in range(_RESAMPLES))
    last = len(draws) - 1
    return Interval(draws[round(last * _TAIL)], middle, draws[round(last * (1 - _TAIL))])


def _resampled_median(values: Sequence[float], rng: random.Random) -> float:
    return median(rng.choices(values, k=len(values)))


def _divide(above: float, below: float) -> float:
    """A cost of nothing is beaten by everything, but not by nothing."""
    if below == 0:
        return math.inf if above > 0 else 1.0
    return above / below


def _opinion(comparison: Comparison, ratio: Interval, cheap: Interval, dear: Interval) -> tuple[Opinion, str]:
    fewest = min(len(comparison.cheap.values), len(comparison.dear.values))
    if fewest < MIN_SAMPLES:
        why = f"{comparison.what}: too few samples ({fewest}; {MIN_SAMPLES} are needed)"
        return Opinion.CANNOT_BE_SHOWN, why
    text = _told(comparison, ratio, cheap, dear)
    if ratio.low >= comparison.at_least and dear.low > cheap.high:
        return Opinion.HOLDS, text
    if ratio.high < comparison.at_least:
        return Opinion.DOES_NOT_HOLD, f"{text}, less than {number(comparison.at_least)}x"
    return Opinion.CANNOT_BE_SHOWN, f"{text}: the intervals are too wide to tell"


def _told(comparison: Comparison, ratio: Interval, cheap: Interval, dear: Interval) -> str:
    return (
        f"{comparison.what}: {comparison.dear.label} {amount(dear.median, comparison.dear.unit)}, "
        f"{comparison.cheap.label} {amount(cheap.median, comparison.cheap.unit)}, "
        f"{_times(ratio.median)} ({_times(ratio.low)} to {_times(ratio.high)})"
    )


def amount(value: float, unit: str) -> str:
    """`"340 ms"`, `"12 queries"`."""
    if unit != "s":
        return f"{number(value)} {unit}"
    return f"{number(value * 1e6)} us" if 0 < value < 1e-3 else seconds(value)


def _times(ratio: float) -> str:
    if math.isinf(ratio):
        return "infinitely more"
    return f"{ratio:.2f}x" if ratio < 10 else f"{number(ratio)}x"


def _of_check(ok: bool | None) -> Opinion:
    return {True: Opinion.HOLDS, False: Opinion.DOES_NOT_HOLD, None: Opinion.CANNOT_BE_SHOWN}[ok]
