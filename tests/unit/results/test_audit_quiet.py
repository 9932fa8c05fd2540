import math
from collections.abc import Sequence

import pytest

from results.audit.api_reader import _samples
from results.audit.errors import ReadError
from results.audit.quiet import UNDER_WAY, wait_quiet


class Gauges:
    """Answers with the given totals one after the other, the last one for ever."""

    def __init__(self, *totals: float | ReadError) -> None:
        self.totals, self.asked = list(totals), 0

    def __call__(self, urls: Sequence[str], names: Sequence[str]) -> float:
        total = self.totals[min(self.asked, len(self.totals) - 1)]
        self.asked += 1
        if isinstance(total, ReadError):
            raise total
        return total


WORKERS = ("http://127.0.0.1:1/metrics",)


def test_quiet_is_seen_several_times_before_it_is_believed() -> None:
    gauges = Gauges(5, 0, 2, 0, 0, 0)
    quiet = wait_quiet(WORKERS, within_s=5, every_s=0.001, read=gauges)
    assert quiet.after_s is not None
    assert gauges.asked == 6


def test_catching_up_is_timed_to_the_first_quiet_look() -> None:
    gauges = Gauges(5, 5, 5, 0)
    quiet = wait_quiet(WORKERS, within_s=5, every_s=0.02, read=gauges)
    assert quiet.after_s == pytest.approx(0.06, abs=0.03)


def test_what_never_gets_quiet_says_what_is_left() -> None:
    quiet = wait_quiet(WORKERS, within_s=0.02, every_s=0.005, read=Gauges(512))
    assert quiet.after_s is None
    assert quiet.under_way == "512 records still under way after 0.02 s"


def test_a_worker_that_does_not_know_what_is_left_is_not_quiet() -> None:
    quiet = wait_quiet(WORKERS, within_s=0.02, every_s=0.005, read=Gauges(math.nan))
    assert quiet.after_s is None
    assert quiet.under_way == "an unknown number of records still under way after 0.02 s"


def test_a_worker_that_does_not_answer_is_not_quiet() -> None:
    quiet = wait_quiet(WORKERS, within_s=0.02, every_s=0.005, read=Gauges(ReadError("could not read it")))
    assert (quiet.after_s, quiet.under_way) == (None, "could not read it")


def test_a_worker_that_comes_back_is_asked_again() -> None:
    gauges = Gauges(ReadError("could not read it"), 0)
    assert wait_quiet(WORKERS, within_s=5, every_s=0.001, read=gauges).after_s is not None


def test_gauges_are_read_from_prometheus_text() -> None:
    text = (
        "# HELP feed_backlog records\n# TYPE feed_backlog gauge\n"
        'feed_backlog{kind="likes"} 12.0\nfeed_backlog{kind="fan}out"} 3\nfeed_backlog_total 99\n'
        "feed_outbox_pending 2.0\nfeed_outbox_pending_created 1.7e9\n"
    )
    assert sum(_samples(text, UNDER_WAY)) == 17
