"""The celebrity threshold, the token bucket, the circuit, and ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_app.domain.celebrity import Threshold
from reference_app.domain.circuit import Circuit
from reference_app.domain.ids import id_for, is_id, new_id
from reference_app.domain.token_bucket import TokenBucket


@given(st.integers(1, 1000), st.lists(st.integers(-1, 1), max_size=60))
def test_nobody_on_the_border_changes_sides_with_every_follower(promote_at: int, steps: list[int]) -> None:
    threshold = Threshold.of(promote_at)
    was, followers, changes = False, promote_at, 0
    for step in steps:
        followers = max(0, followers + step)
        now = threshold.is_celebrity(was=was, followers=followers)
        changes += now != was
        was = now
    width = promote_at - threshold.demote_below
    assert changes <= 1 + sum(map(abs, steps)) / max(1, width)


def test_the_threshold_itself_makes_a_celebrity_and_the_way_back_lies_lower() -> None:
    threshold = Threshold.of(100)
    assert threshold.is_celebrity(was=False, followers=100)
    assert not threshold.is_celebrity(was=False, followers=99)
    assert threshold.is_celebrity(was=True, followers=80)
    assert not threshold.is_celebrity(was=True, followers=79)


@given(st.floats(0.5, 50), st.floats(1, 20), st.lists(st.floats(0, 2), min_size=1, max_size=200))
def test_a_bucket_never_gives_more_than_its_rate_and_burst(
    rate: float, burst: float, pauses: list[float]
) -> None:
    bucket, now, taken = TokenBucket(rate, burst), 0.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take(now)
    assert taken <= burst + rate * now + 1e-6


def test_a_bucket_gives_its_rate_when_asked_more_often() -> None:
    bucket = TokenBucket(10, 1)
    assert sum(bucket.take(n / 1000) for n in range(10_000)) == pytest.approx(100, abs=2)


def test_a_bucket_without_a_rate_gives_nothing() -> None:
    assert not any(TokenBucket(0).take(now) for now in range(100))


def test_a_clock_that_goes_back_gives_nothing_extra() -> None:
    bucket = TokenBucket(1, 1)
    assert bucket.take(10)
    assert not bucket.take(5)
    assert not bucket.take(10.5)
    assert bucket.take(11.1)


def test_a_circuit_opens_after_failures_and_lets_one_probe_through_at_a_time() -> None:
    circuit = Circuit(open_after=2, probe_every_s=1)
    assert circuit.allows(0)
    circuit.failed(0)
    assert circuit.allows(0)
    circuit.failed(0)
    assert circuit.is_open
    assert [circuit.allows(now) for now in (0.5, 1.0, 1.1, 1.9, 2.0)] == [False, True, False, False, True]
    assert circuit.retry_after_s(2.5) == pytest.approx(0.5)
    circuit.succeeded()
    assert circuit.allows(2.1)
    assert circuit.retry_after_s(2.1) == 0


def test_failures_that_are_not_in_a_row_do_not_open_a_circuit() -> None:
    circuit = Circuit(open_after=2)
    for now in range(10):
        circuit.failed(now)
        circuit.succeeded()
    assert not circuit.is_open


def test_the_same_key_of_the_same_caller_names_the_same_thing() -> None:
    assert id_for("post", "a", "k") == id_for("post", "a", "k")
    names = {id_for("post", "a", "k"), id_for("post", "b", "k"), id_for("comment", "a", "k")}
    assert len(names) == 3
    assert id_for("post", "a", None) != id_for("post", "a", None)


@given(st.text(max_size=40))
def test_only_lower_case_uuids_are_ids(text: str) -> None:
    assert not is_id(text) or (len(text) == 36 and text == text.lower())
    assert is_id(new_id())
    assert not is_id(new_id().upper())
    assert not is_id(new_id() + "\n")
