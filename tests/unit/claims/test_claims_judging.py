"""The opinion comes from the samples alone: clear, opposite, overlapping, too few, none."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.claims.evidence import Check, Claim, Comparison, Evidence, Opinion, Samples
from chaos.claims.ground import Ground
from chaos.claims.judging import amount, cannot_show, interval_of_ratio, judge, measure, overall


async def _no_experiment(ground: Ground) -> Evidence:
    return Evidence()


CLAIM = Claim("a-claim", "A is cheaper than B", _no_experiment)


def comparison(cheap: list[float], dear: list[float], at_least: float = 1.25) -> Comparison:
    return Comparison("a thing", Samples("A", "s", cheap), Samples("B", "s", dear), at_least)


def test_a_clear_difference_holds() -> None:
    found = measure(comparison([1.0, 1.1, 0.9, 1.0, 1.05], [5.0, 5.2, 4.9, 5.1, 5.0]))
    assert found.opinion is Opinion.HOLDS
    assert found.why.startswith("a thing: B 5 s, A 1 s, 5.00x (4.")


def test_the_opposite_does_not_hold() -> None:
    found = measure(comparison([5.0, 5.2, 4.9, 5.1, 5.0], [1.0, 1.1, 0.9, 1.0, 1.05]))
    assert found.opinion is Opinion.DOES_NOT_HOLD


def test_no_difference_does_not_hold() -> None:
    found = measure(comparison([1.0, 1.01, 0.99, 1.0, 1.02], [1.01, 1.0, 1.0, 0.99, 1.0]))
    assert found.opinion is Opinion.DOES_NOT_HOLD
    assert found.why.endswith("less than 1.25x")


def test_overlapping_intervals_are_never_holds() -> None:
    found = measure(comparison([1.0, 3.0, 0.5, 4.0, 1.2], [2.0, 6.0, 0.9, 1.5, 5.0]))
    assert found.opinion is Opinion.CANNOT_BE_SHOWN
    assert "too wide to tell" in found.why


def test_a_difference_below_the_claimed_factor_does_not_hold() -> None:
    found = measure(comparison([1.0] * 6, [1.2] * 6, at_least=2.0))
    assert found.opinion is Opinion.DOES_NOT_HOLD


def test_too_few_samples_show_nothing() -> None:
    found = measure(comparison([1.0] * 4, [100.0] * 4))
    assert found.opinion is Opinion.CANNOT_BE_SHOWN
    assert "too few samples (4; 5 are needed)" in found.why


def test_no_samples_show_nothing() -> None:
    assert measure(comparison([], [])).opinion is Opinion.CANNOT_BE_SHOWN


def test_nothing_costs_less_than_something_but_not_than_nothing() -> None:
    assert math.isinf(interval_of_ratio([1.0] * 5, [0.0] * 5).median)
    assert interval_of_ratio([0.0] * 5, [0.0] * 5).median == 1.0


@pytest.mark.parametrize(
    ("checks", "opinion"),
    [
        ([True, True], Opinion.HOLDS),
        ([True, False], Opinion.DOES_NOT_HOLD),
        ([True, None], Opinion.CANNOT_BE_SHOWN),
        ([None, False], Opinion.DOES_NOT_HOLD),
        ([], Opinion.CANNOT_BE_SHOWN),
    ],
)
def test_checks_count_like_comparisons(checks: list[bool | None], opinion: Opinion) -> None:
    evidence = Evidence(checks=[Check(f"check {ok}", ok) for ok in checks], notes=["a note"])
    finding = judge(CLAIM, evidence, 1.0)
    assert finding.opinion is opinion
    assert finding.reasons == [*(f"check {ok}" for ok in checks), "a note"]


def test_one_part_that_does_not_hold_sinks_the_claim() -> None:
    assert overall([Opinion.HOLDS, Opinion.CANNOT_BE_SHOWN, Opinion.DOES_NOT_HOLD]) is Opinion.DOES_NOT_HOLD
    assert overall([]) is Opinion.CANNOT_BE_SHOWN


def test_an_experiment_that_could_not_be_run_says_why() -> None:
    finding = cannot_show(CLAIM, "Kafka did not answer", 2.0)
    assert (finding.opinion, finding.reasons) == (Opinion.CANNOT_BE_SHOWN, ["Kafka did not answer"])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.001, 1000), min_size=5, max_size=9),
    st.lists(st.floats(0.001, 1000), min_size=5, max_size=9),
)
def test_turned_round_a_claim_that_holds_never_holds(one: list[float], other: list[float]) -> None:
    if measure(comparison(one, other)).opinion is Opinion.HOLDS:
        assert measure(comparison(other, one)).opinion is Opinion.DOES_NOT_HOLD


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.001, 1000), min_size=5, max_size=9))
def test_a_way_is_never_cheaper_than_itself(values: list[float]) -> None:
    assert measure(comparison(values, values)).opinion is not Opinion.HOLDS


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0000123, "s", "12.3 us"),
        (0.25, "s", "250 ms"),
        (12.0, "s", "12 s"),
        (1000.0, "queries", "1000 queries"),
    ],
)
def test_amounts_read_well(value: float, unit: str, text: str) -> None:
    assert amount(value, unit) == text
