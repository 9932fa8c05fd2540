import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.audit.errors import ReadError
from results.audit.gauges import GaugeReading, parse
from results.audit.quiet import wait_quiet, what_is_left


class Gauges:
    """Answers with the given backlogs one after the other, the last one for ever."""

    def __init__(self, *backlogs: float | ReadError) -> None:
        self.backlogs, self.asked = list(backlogs), 0

    def __call__(self, urls: Sequence[str], names: Sequence[str]) -> list[GaugeReading]:
        backlog = self.backlogs[min(self.asked, len(self.backlogs) - 1)]
        self.asked += 1
        if isinstance(backlog, ReadError):
            raise backlog
        return worker("likes", backlog, 4, 4)


def worker(kind: str, backlog: float, assigned: float, partitions: float) -> list[GaugeReading]:
    return [
        GaugeReading("feed_backlog", kind, backlog),
        GaugeReading("feed_partitions_assigned", kind, assigned),
        GaugeReading("feed_partitions", kind, partitions),
    ]


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


def test_while_partitions_are_nobodys_what_the_workers_count_is_not_all_there_is() -> None:
    forming = worker("likes", 0, 0, 4)
    assert what_is_left(forming) == "0 of 4 partitions are read by the likes workers"
    assert (
        what_is_left(forming + worker("likes", 0, 3, 4)) == "3 of 4 partitions are read by the likes workers"
    )
    handed_over = worker("likes", 0, 4, 4) + worker("likes", 0, 2, 4)
    assert what_is_left(handed_over) == "6 of 4 partitions are read by the likes workers"
    assert what_is_left(worker("likes", 0, 0, 0)) == (
        "0 of an unknown number of partitions are read by the likes workers"
    )


def test_a_worker_more_than_there_are_partitions_is_well() -> None:
    spare = worker("likes", 0, 0, 4)
    assert what_is_left(spare + worker("likes", 0, 4, 4)) == ""
    assert what_is_left(spare + worker("likes", 7, 4, 4)) == "7 records still under way"


def test_what_is_owed_counts_too() -> None:
    owed = GaugeReading("feed_outbox_pending", "", 2)
    assert what_is_left([*worker("fanout", 1, 4, 4), owed]) == "3 records still under way"


@given(st.data())
def test_nothing_is_left_exactly_if_every_partition_is_read_to_its_end(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 6), "partitions")
    unread = data.draw(st.lists(st.integers(0, 3), min_size=total, max_size=total), "records in each")
    owner = data.draw(
        st.lists(st.integers(-1, 2), min_size=total, max_size=total), "whose it is; -1 nobody's"
    )
    readings = [
        reading
        for one in range(3)
        for reading in worker(
            "likes",
            sum(records for records, whose in zip(unread, owner, strict=True) if whose == one),
            owner.count(one),
            total,
        )
    ]
    assert (what_is_left(readings) == "") == (sum(unread) == 0 and -1 not in owner)


def test_gauges_are_read_from_prometheus_text() -> None:
    text = (
        "# HELP feed_backlog records\n# TYPE feed_backlog gauge\n"
        'feed_backlog{kind="likes"} 12.0\nfeed_backlog{kind="fan}out"} NaN\n'
        "# HELP feed_outbox_pending owed\n# TYPE feed_outbox_pending gauge\nfeed_outbox_pending 2.0\n"
        "# HELP feed_other else\n# TYPE feed_other gauge\nfeed_other 2.0\n"
    )
    found = parse(text, ("feed_backlog", "feed_outbox_pending"))
    assert [(name, kind) for name, kind, _ in found] == [
        ("feed_backlog", "likes"),
        ("feed_backlog", "fan}out"),
        ("feed_outbox_pending", ""),
    ]
    assert [value for _, _, value in found if value == value] == [12.0, 2.0]
    with pytest.raises(ValueError, match="invalid metric name"):
        parse("<html>not found</html> 3x", ("feed_backlog",))
