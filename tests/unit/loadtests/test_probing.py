from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtests.probing import LONGEST_PAUSE_S, Acknowledged, follow_up
from results.history import StalenessSample


class FakeTime:
    """Passes only while somebody sleeps or looks."""

    def __init__(self, over_at: float = 1e9) -> None:
        self.t, self._over_at = 100.0, over_at

    def now(self) -> float:
        return self.t

    def sleep(self, seconds: float) -> None:
        self.t += seconds

    def is_over(self) -> bool:
        return self.t >= self._over_at


def probe(
    look: Callable[[float], bool | None], *, deadline_s: float = 10, over_at: float = 1e9
) -> StalenessSample:
    time = FakeTime(over_at)
    write = Acknowledged(100.0, "post", "reader", lambda: look(time.t - 100.0))
    return follow_up("push", write, time, deadline_s=deadline_s, worker="w0")


@given(st.floats(0, 9.5))
def test_what_is_seen_is_measured_from_its_acknowledgement(shown_after: float) -> None:
    sample = probe(lambda since: since >= shown_after)
    assert sample.outcome == "seen"
    assert sample.staleness_s is not None
    assert shown_after - 1e-6 <= sample.staleness_s <= shown_after + LONGEST_PAUSE_S + 1e-6


def test_what_never_arrives_is_a_breach_at_its_deadline() -> None:
    sample = probe(lambda since: False)
    assert (sample.outcome, sample.staleness_s, sample.deadline_s) == ("breach", 10, 10)


def test_what_arrives_after_its_deadline_is_a_breach_too() -> None:
    assert probe(lambda since: since > 10, deadline_s=10).outcome == "breach"


def test_a_look_that_fails_does_not_end_the_probe() -> None:
    sample = probe(lambda since: None if since < 3 else True)
    assert sample.outcome == "seen"
    assert sample.staleness_s == pytest.approx(3, abs=0.3)


def test_if_nobody_could_look_it_is_unknown() -> None:
    sample = probe(lambda since: None)
    assert (sample.outcome, sample.staleness_s) == ("unknown", None)


def test_if_the_run_ends_first_it_is_unknown() -> None:
    sample = probe(lambda since: False, over_at=104.0)
    assert (sample.outcome, sample.staleness_s) == ("unknown", None)
