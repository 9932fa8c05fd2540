from pathlib import Path

import pytest

from results.quality import Quality, quality_of

from .histories import SyntheticRun


def quality(run: SyntheticRun) -> Quality:
    return quality_of(run.history().series)


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    return SyntheticRun(tmp_path).worker(0, "joined").generator(0, 30)


def test_a_good_load_gives_no_reason(run: SyntheticRun) -> None:
    found = quality(run)
    assert found.reasons() == []
    assert (found.planned, found.sent, found.workers) == (600, 600, 1)


def test_a_lost_worker_is_named_with_its_interval(run: SyntheticRun) -> None:
    found = quality(run.worker(12, "lost", "w2"))
    assert found.reasons() == ["load worker lost: w2 from 12 s to the end"]


def test_a_worker_that_came_back_was_lost_all_the_same(run: SyntheticRun) -> None:
    found = quality(run.worker(12, "lost", "w2").worker(14, "lost", "w2").worker(22, "returned", "w2"))
    assert found.reasons() == ["load worker lost: w2 from 12 s to 22 s"]
    assert found.workers == 2


def test_a_worker_that_is_done_is_not_lost(run: SyntheticRun) -> None:
    assert quality(run.worker(30, "done")).reasons() == []


def test_a_worker_that_goes_quiet_while_it_drains_is_not_lost(run: SyntheticRun) -> None:
    rows = run.worker(33, "lost").worker(34, "returned").worker(36, "done").history().series
    assert quality_of(rows, end_s=30).lost == []
    assert len(quality_of(rows, end_s=33.5).lost) == 1


def test_a_worker_that_is_never_heard_again_is_lost_whenever_that_was(run: SyntheticRun) -> None:
    assert len(quality_of(run.worker(33, "lost").history().series, end_s=30).lost) == 1


def test_a_busy_generator_is_saturated(run: SyntheticRun) -> None:
    [reason] = quality(run.generator(30, 40, cpu=0.95)).reasons()
    assert reason == "the load generator was saturated: 95 % of a core, over 90 %"


def test_one_busy_second_is_no_saturation(run: SyntheticRun) -> None:
    assert quality(run.generator(30, 31, cpu=1.0)).reasons() == []


def test_ops_sent_late_mean_saturation(run: SyntheticRun) -> None:
    [reason] = quality(run.generator(30, 32, slip_s=0.4)).reasons()
    assert "sent 39" in reason or "sent 40" in reason
    assert "late at p99, over 100 ms" in reason


def test_a_load_that_fell_short_is_named(run: SyntheticRun) -> None:
    [reason] = quality(run.generator(30, 34, planned=20, sent=2)).reasons()
    assert reason == "the load generator fell short: 608 of 680 planned ops were sent, under 95 %"


def test_no_rows_give_no_numbers() -> None:
    found = quality_of([])
    assert (found.cpu, found.slip_p99_s, found.reasons()) == (None, None, [])
