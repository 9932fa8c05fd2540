"""Warm-up is not a leak, a slow leak is one, a sawtooth is not, too short says so."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.drift import Bound, Drift, Point, after_warm_up, blocks_of, drift_of, mann_kendall, theil_sen

HOUR = 3600.0


def record(value: Callable[[float], float], *, length: float = 2 * HOUR, every: float = 10.0) -> list[Point]:
    return [(index * every, value(index * every)) for index in range(int(length / every))]


def judged(value: Callable[[float], float], *, length: float = 2 * HOUR, bound: Bound | None = None) -> Drift:
    return drift_of("api1", "rss_mib", record(value, length=length), bound)


def noise(amount: float, seed: int = 1) -> Callable[[], float]:
    rng = random.Random(seed)
    return lambda: rng.gauss(0, amount)


def test_a_flat_record_is_steady() -> None:
    shake = noise(2)
    assert judged(lambda t: 100 + shake()).trend == "steady"


def test_a_constant_is_steady() -> None:
    assert judged(lambda t: 42.0).trend == "steady"


def test_warm_up_is_not_a_leak() -> None:
    shake = noise(1)
    assert judged(lambda t: 60 + 60 * (1 - math.exp(-t / 300)) + shake()).trend == "steady"


def test_a_warm_up_that_takes_nearly_half_of_a_short_record_is_not_a_leak() -> None:
    points = record(lambda t: 60 + 60 * min(t, 260) / 260, length=600, every=2)
    assert drift_of("api1", "rss_mib", points).trend == "steady"


def test_a_slow_leak_is_one() -> None:
    shake = noise(3)
    found = judged(lambda t: 100 + 10 * t / HOUR + shake())
    assert found.trend == "rising"
    assert found.per_hour == pytest.approx(10, rel=0.25)
    assert found.why.startswith("from 10")


def test_a_leak_under_a_warm_up_is_one() -> None:
    shake = noise(1)
    assert judged(lambda t: 60 + 40 * (1 - math.exp(-t / 200)) + 15 * t / HOUR + shake()).trend == "rising"


def test_a_sawtooth_is_not_a_leak() -> None:
    shake = noise(1)
    assert judged(lambda t: 100 + 50 * (t % 700) / 700 + shake()).trend == "steady"


def test_a_slow_sawtooth_is_not_a_leak() -> None:
    assert judged(lambda t: 100 + 80 * (t % 1500) / 1500).trend == "steady"


def test_a_leaking_sawtooth_is_a_leak() -> None:
    assert judged(lambda t: 100 + 20 * t / HOUR + 30 * (t % 400) / 400).trend == "rising"


def test_a_few_wild_values_do_not_make_a_trend() -> None:
    shake = noise(1)
    assert judged(lambda t: 5000.0 if 6900 < t < 7000 else 100 + shake()).trend == "steady"


def test_periodic_faults_do_not_make_a_trend() -> None:
    shake = noise(0.002)
    assert judged(lambda t: (0.8 if t % 600 < 20 else 0.03) + abs(shake())).trend == "steady"


def test_growth_that_does_not_matter_is_no_drift() -> None:
    found = judged(lambda t: 1000 + 1 * t / HOUR)
    assert (found.trend, "of growth" in found.why) == ("steady", True)


def test_growth_from_next_to_nothing_needs_an_amount() -> None:
    def creeping(t: float) -> float:
        return 0.001 + 0.002 * t / HOUR

    assert judged(creeping).trend == "rising"
    assert judged(creeping, bound=Bound(share=0.05, amount=0.05)).trend == "steady"


def test_what_shrinks_is_falling() -> None:
    assert judged(lambda t: 1000 - 100 * t / HOUR).trend == "falling"


@pytest.mark.parametrize("length", [0.0, 10.0, 100.0, 150.0])
def test_too_short_says_so(length: float) -> None:
    found = judged(lambda t: 100 + t, length=length)
    assert found.trend == "too short"
    assert found.why.startswith("too short to judge")


def test_five_minutes_are_enough_for_a_fast_leak() -> None:
    shake = noise(0.5)
    points = record(lambda t: 100 + 0.2 * t + shake(), length=300, every=2)
    assert drift_of("api1", "rss_mib", points).trend == "rising"


def test_the_slope_is_the_median_slope() -> None:
    assert theil_sen([(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, 400.0)]) == 1.0


def test_mann_and_kendall_agree_with_their_table() -> None:
    rising = [(float(i), float(i)) for i in range(10)]
    assert mann_kendall(rising) == pytest.approx(8.3e-5, rel=0.05)  # S = 45, Var = 125, z = 3.935
    assert mann_kendall([(0.0, 1.0)] * 10) == 1.0


def test_false_alarms_are_rare() -> None:
    alarms = 0
    for seed in range(300):
        rng = random.Random(seed)
        points = record(lambda t: 100 + rng.gauss(0, 20), length=HOUR)  # noqa: B023
        alarms += drift_of("api1", "rss_mib", points, Bound(share=0.0)).trend != "steady"
    assert alarms <= 9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(-1e6, 1e6)), max_size=80), st.randoms())
def test_the_order_of_points_does_not_matter(points: list[Point], rng: random.Random) -> None:
    shuffled = rng.sample(points, len(points))
    assert drift_of("m", "n", points).trend == drift_of("m", "n", shuffled).trend


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e6)), max_size=80))
def test_blocks_hold_values_of_the_record(points: list[Point]) -> None:
    watched = after_warm_up(sorted(points))
    values = {value for _, value in watched}
    assert all(value in values for _, value in blocks_of(watched))
