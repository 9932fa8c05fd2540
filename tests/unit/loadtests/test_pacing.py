import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadtests.pacing import Pacer
from loadtests.shapes import Spike


def pacer(rate: float, spacing: str = "even", seed: int = 1) -> Pacer:
    return Pacer(lambda t: rate, 0.0, spacing, random.Random(seed))  # type: ignore[arg-type]


def test_even_spacing_is_even() -> None:
    instants = pacer(50).due(10.0)
    assert len(instants) == 500
    assert all(b - a == pytest.approx(0.02) for a, b in pairwise(instants))


@given(st.lists(st.floats(0.001, 3.0), min_size=1, max_size=15), st.integers(0, 10))
@settings(max_examples=40, deadline=None)
def test_how_often_one_asks_changes_nothing(pauses: list[float], seed: int) -> None:
    asked_often, asked_once = pacer(20, "poisson", seed), pacer(20, "poisson", seed)
    now, seen = 0.0, []
    for pause in pauses:
        now += pause
        seen += asked_often.due(now)
    once = asked_once.due(now)
    assert abs(len(seen) - len(once)) <= 1  # one may be due within a rounding error of `now`
    assert all(abs(a - b) < 1e-6 for a, b in zip(seen, once, strict=False))


@given(st.floats(0.5, 2000), st.floats(0.1, 3), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_instants_are_in_order_and_never_in_the_future(rate: float, until: float, seed: int) -> None:
    instants = pacer(rate, "poisson", seed).due(until)
    assert instants == sorted(instants)
    assert all(0 <= instant <= until for instant in instants)


def test_poisson_arrivals_have_the_rate_and_the_scatter_of_a_poisson_process() -> None:
    instants = pacer(100, "poisson", 7).due(200.0)
    per_second = [0] * 200
    for instant in instants:
        per_second[min(199, int(instant))] += 1
    mean = sum(per_second) / 200
    variance = sum((n - mean) ** 2 for n in per_second) / 200
    assert mean == pytest.approx(100, rel=0.03)
    assert 0.75 < variance / mean < 1.3


def test_the_rate_is_followed_while_it_changes() -> None:
    spike = Spike(at=2, length=1, times=10)
    instants = Pacer(lambda t: 100 * spike(t), 0.0, "even", random.Random(0)).due(4.0)
    assert sum(2 <= t < 3 for t in instants) == pytest.approx(1000, abs=15)
    assert sum(t < 2 for t in instants) == pytest.approx(200, abs=2)


def test_nothing_is_due_while_the_rate_is_nothing() -> None:
    idle = pacer(0)
    assert idle.due(100.0) == []
    assert 0 < idle.pause_s() <= 0.1
