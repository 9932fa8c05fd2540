from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.facts import Facts
from results.history import OpSecond
from results.latency import Buckets
from results.measures import GROUPS, Series, groups_of

from .histories import SyntheticRun


@pytest.mark.parametrize(
    ("op", "groups"),
    [
        ("GET /feed", {"feed", "reads", "all"}),
        ("PUT /posts/{id}/like", {"likes", "writes", "all"}),
        ("GET /posts/{id}/likes/count", {"likes", "reads", "all"}),
        ("DELETE /users/{id}/following/{other}", {"follows", "writes", "all"}),
        ("GET /users/{id}/followers/count", {"follows", "reads", "all"}),
        ("GET /users/{id}/relationship/{other}", {"follows", "reads", "all"}),
        ("POST /posts", {"posts", "writes", "all"}),
        ("GET /posts/{id}", {"posts", "reads", "all"}),
        ("POST /posts/{id}/comments", {"comments", "writes", "all"}),
        ("GET /users/{id}", {"reads", "all"}),
        ("POST /media/uploads", {"writes", "all"}),
    ],
)
def test_an_op_belongs_to_the_groups_of_the_thing_it_is_about(op: str, groups: set[str]) -> None:
    assert groups_of(op) == groups
    assert groups <= set(GROUPS)


def test_a_window_adds_up_rows_of_the_same_second_op_and_worker() -> None:
    series = Series(
        [OpSecond(3, "w1", "GET /feed", ok={5: 2}), OpSecond(3, "w1", "GET /feed", ok={5: 1, 9: 1})]
    )
    window = series.window("feed", 3, 4)
    assert (window.n, window.ok) == (4, 4)
    assert window.quantile(1) == pytest.approx(9e-6)


def test_unknown_ops_are_errors_and_shed_ones_are_counted_on_their_own() -> None:
    row = OpSecond(
        0, "w1", "POST /posts", ok={1: 6}, failed={1: 3}, unknown={1: 1}, shed=2, why={"503 shed": 2}
    )
    window = Series([row]).window("writes", 0, 1)
    assert (window.errors, window.error_rate, window.shed) == (4, 0.4, 2)
    assert window.error_share == Fraction(2, 5)
    assert window.why == {"503 shed": 2}


def test_successes_and_failures_have_separate_latencies() -> None:
    window = Series([OpSecond(0, "w1", "GET /feed", ok={10: 1}, failed={100: 1})]).window("feed", 0, 1)
    assert window.quantile(1) == pytest.approx(10e-6)
    assert window.quantile(1, "failed") == pytest.approx(100e-6)
    assert window.quantile(1, "all") == pytest.approx(100e-6)


def test_the_probe_is_no_load() -> None:
    series = Series([OpSecond(0, "w1", "GET /feed", "staleness_probe", ok={1: 5})])
    assert series.window("all", 0, 1).n == 0


def test_no_ops_have_no_error_rate() -> None:
    window = Series().window("feed", 0, 5)
    assert (window.error_rate, window.quantile(0.5), window.rate) == (None, None, 0.0)


def test_the_rate_counts_what_succeeded() -> None:
    series = Series([OpSecond(t, "w1", "GET /feed", ok={1: 8}, failed={1: 2}) for t in range(4)])
    assert series.window("feed", 0, 4).rate == 8.0


def test_one_op_can_be_looked_at_by_its_name() -> None:
    series = Series(
        [OpSecond(0, "w1", "GET /feed", ok={1: 1}), OpSecond(0, "w1", "GET /users/{id}", ok={1: 2})]
    )
    assert series.window("GET /users/{id}", 0, 1).n == 2


def test_forgotten_seconds_are_gone() -> None:
    series = Series([OpSecond(t, "w1", "GET /feed", ok={1: 1}) for t in range(10)])
    series.forget(8)
    assert series.window("all", 0, 10).n == 2


BUCKETS = st.dictionaries(st.integers(0, 2000), st.integers(1, 5), max_size=4)
ROWS = st.lists(st.tuples(st.integers(0, 9), BUCKETS, BUCKETS), max_size=20)


@given(ROWS, st.integers(0, 10))
def test_two_halves_hold_what_the_whole_does(rows: list[tuple[int, Buckets, Buckets]], cut: int) -> None:
    series = Series(OpSecond(t, "w1", "GET /feed", ok=ok, failed=failed) for t, ok, failed in rows)
    whole, halves = series.window("all", 0, 10), (series.window("all", 0, cut), series.window("all", cut, 10))
    assert whole.n == sum(half.n for half in halves)
    assert whole.errors == sum(half.errors for half in halves)


@given(ROWS)
def test_the_order_of_rows_does_not_matter(rows: list[tuple[int, Buckets, Buckets]]) -> None:
    made = [OpSecond(t, "w1", "GET /feed", ok=ok, failed=failed) for t, ok, failed in rows]
    there, back = Series(made).window("all", 0, 10), Series(reversed(made)).window("all", 0, 10)
    assert (there.n, there.errors) == (back.n, back.errors)
    assert there.histogram("all") == back.histogram("all")


def test_a_second_that_a_fault_begins_in_belongs_to_the_fault(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).phase(0, "warmup").phase(4.7, "baseline").phase(20.6, "fault")
    facts = Facts.of(run.phase(35.2, "recovery").end(64.5).history())
    assert facts.seconds_of("baseline") == (5, 20)
    assert facts.seconds_of("fault") == (20, 36)
    assert facts.seconds_of("recovery") == (36, 65)


def test_a_phase_that_was_never_reached_has_no_window(tmp_path: Path) -> None:
    facts = Facts.of(SyntheticRun(tmp_path).phase(0, "warmup").end(3).history())
    assert facts.window("all", "fault") is None
