import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.history import StalenessSample
from results.staleness import PATHS_OF, Staleness, staleness_of

PUSH = PATHS_OF["push"]


def sample(seconds: float, outcome: str = "seen") -> StalenessSample:
    return StalenessSample(1.0, "push", outcome, seconds, 30.0)  # type: ignore[arg-type]  # parametrized


def test_a_breach_counts_at_its_deadline_and_never_less() -> None:
    found = staleness_of([sample(0.1), StalenessSample(2, "push", "breach", None, 30.0)], PUSH)
    assert (found.n, found.breaches, found.quantile(1)) == (2, 1, 30.0)


def test_undecided_samples_are_counted_apart() -> None:
    found = staleness_of([sample(0.1), sample(5.0, "unknown")], PUSH)
    assert (found.n, found.undecided, found.quantile(1)) == (1, 1, 0.1)


def test_negative_samples_mean_two_clocks_and_are_never_averaged() -> None:
    found = staleness_of([sample(0.1), sample(-3.0)], PUSH)
    assert (found.n, found.negative, found.quantile(0)) == (1, 1, 0.1)


def test_paths_are_kept_apart() -> None:
    celebrity = StalenessSample(1, "celebrity", "seen", 2.0, 30.0)
    assert staleness_of([sample(0.1), celebrity], PUSH).n == 1
    assert staleness_of([sample(0.1), celebrity], PATHS_OF["feed"]).n == 2


def test_one_of_twenty_that_never_arrives_shows_in_p99() -> None:
    found = staleness_of([*(sample(0.1) for _ in range(19)), sample(30.0, "breach")], PUSH)
    assert (found.quantile(0.5), found.quantile(0.99)) == (0.1, 30.0)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50))
def test_quantiles_never_decrease_and_end_at_the_maximum(seconds: list[float]) -> None:
    found = Staleness(seconds)
    quantiles = [found.quantile(q) for q in (0.5, 0.95, 0.99, 1)]
    assert quantiles == sorted(quantiles)  # type: ignore[type-var]  # none is None: there are samples
    assert quantiles[-1] == max(seconds)


def test_no_samples_have_no_quantile() -> None:
    assert Staleness().quantile(0.99) is None


def test_the_rank_of_a_quantile_is_not_moved_by_rounding() -> None:
    assert Staleness([float(i) for i in range(1, 101)]).quantile(0.99) == pytest.approx(99)
