from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.facts import Facts
from results.history import End, Event, Fault, OpSecond, Phase
from results.latency import Buckets
from results.measures import Series
from results.recovery import Recovery, recovery_of
from results.targets import parse_target

from .histories import SyntheticRun


def outage(
    begin: float, end: float, *, rate: int = 60, injected: float, healed: float, share: float = 1.0
) -> Facts:
    """A minute of evenly spaced writes; a `share` of those meant to start in [begin, end) failed."""
    rows: dict[int, OpSecond] = {}
    for i in range(60 * rate):
        t = (i + 0.5) / rate
        row = rows.setdefault(int(t), OpSecond(int(t), "w1", "POST /posts", ok={}, failed={}))
        is_bad = begin <= t < end and (i * 7919 % 1000) / 1000 < share
        _count(row.failed if is_bad else row.ok)
    events: list[Event] = [
        Phase(0, "baseline"),
        Phase(injected, "fault"),
        Fault(injected, "a", "kill", "mongo:primary", ["mongo1"], "inject"),
        Fault(healed, "a", "kill", "mongo:primary", ["mongo1"], "heal"),
        Phase(healed, "recovery"),
        End(60),
    ]
    return Facts.from_parts(Series(rows.values()), (), events)


def _count(buckets: Buckets) -> None:
    buckets[50] = buckets.get(50, 0) + 1


def of_writes(facts: Facts) -> Recovery:
    found = recovery_of(facts, facts.faults[0], "writes")
    assert found is not None
    return found


@given(st.floats(10, 20), st.floats(0.5, 25))
@settings(deadline=None, max_examples=40)
def test_an_outage_is_measured_to_a_fifth_of_a_second(begin: float, length: float) -> None:
    facts = outage(begin, begin + length, injected=begin, healed=begin + length)
    found = of_writes(facts)
    assert found.outage_s == pytest.approx(length, abs=0.2)
    assert found.recovery_s == pytest.approx(0, abs=0.2)
    assert found.kept


def test_an_outage_that_outlasts_the_heal_is_recovery_time() -> None:
    found = of_writes(outage(15, 33.4, injected=15, healed=30))
    assert found.outage_s == pytest.approx(18.4, abs=0.2)
    assert found.recovery_s == pytest.approx(3.4, abs=0.2)


def test_an_outage_of_a_part_of_the_ops_is_measured_too() -> None:
    assert of_writes(outage(15, 25.5, injected=15, healed=30, share=0.4)).outage_s == pytest.approx(
        10.5, abs=0.5
    )


def test_nothing_happened_is_no_outage() -> None:
    found = of_writes(outage(0, 0, injected=15, healed=30))
    assert (found.outage_s, found.recovery_s, found.kept) == (0, 0, True)


def test_not_back_when_the_watch_ends_is_not_kept() -> None:
    found = of_writes(outage(15, 58, injected=15, healed=30))
    assert not found.kept
    assert found.watched_s == 30


def test_one_or_two_failed_ops_are_no_outage() -> None:
    facts = outage(0, 0, injected=15, healed=30, rate=6)
    facts.series.add([OpSecond(20, "w1", "POST /posts", failed={50: 2})])
    assert of_writes(facts).outage_s == 0
    facts.series.add([OpSecond(21, "w1", "POST /posts", failed={50: 1})])
    assert of_writes(facts).outage_s > 4


def test_where_hardly_anything_is_sent_a_single_failure_is_an_outage() -> None:
    rows = [OpSecond(second, "w1", "POST /posts", ok={50: 1}) for second in range(0, 60, 4) if second != 20]
    facts = outage(0, 0, injected=15, healed=30)
    facts = Facts.from_parts(
        Series([*rows, OpSecond(20, "w1", "POST /posts", failed={50: 1})]), (), facts.events
    )
    assert of_writes(facts).outage_s > 1


def test_a_relapse_counts_until_its_end() -> None:
    facts = outage(15, 20, injected=15, healed=30)
    facts.series.add([OpSecond(41, "w1", "POST /posts", failed={50: 60})])
    assert of_writes(facts).recovery_s == pytest.approx(12, abs=0.6)


def test_the_next_fault_ends_the_watch() -> None:
    facts = outage(40, 50, injected=15, healed=20)
    second = Fault(40, "b", "kill", "redis", ["redis"], "inject")
    facts = Facts.from_parts(facts.series, (), sorted([*facts.events, second], key=lambda event: event.t))
    found = of_writes(facts)
    assert (found.outage_s, found.kept, found.watched_s) == (0, True, 20)


def test_a_group_without_ops_has_no_recovery() -> None:
    facts = outage(15, 20, injected=15, healed=30)
    assert recovery_of(facts, facts.faults[0], "feed") is None


# -- as targets -----------------------------------------------------------------------------


def test_a_recovery_target_is_met_or_missed_by_the_worst_fault() -> None:
    facts = outage(15, 33, injected=15, healed=30)
    assert parse_target("writes.recovery_time < 15s").evaluate(facts).ok is True
    assert parse_target("writes.recovery_time < 2s").evaluate(facts).ok is False
    assert parse_target("writes.outage < 15s").evaluate(facts).ok is False


def test_not_recovered_in_a_watch_shorter_than_the_limit_is_no_verdict() -> None:
    facts = outage(15, 60, injected=15, healed=50)
    result = parse_target("writes.recovery_time < 15s").evaluate(facts)
    assert result.ok is None
    assert "still not back" in result.why
    assert parse_target("writes.recovery_time < 5s").evaluate(facts).ok is False


def test_recovered_means_within_the_latency_target_too(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().ops("POST /posts", 0, 35)
    run.ops("POST /posts", 35, 45, latency_s=3.0).ops("POST /posts", 45, 65)
    facts, target = Facts.of(run.history()), parse_target("writes.recovery_time < 5s")
    beside = [parse_target("writes.latency.p95 < 1s in recovery")]
    assert target.evaluate(facts).ok is True
    result = target.evaluate(facts, beside)
    assert result.ok is False
    assert result.observed == pytest.approx(10, abs=1)


def test_without_a_fault_there_is_nothing_to_recover_from(tmp_path: Path) -> None:
    facts = Facts.of(SyntheticRun(tmp_path).phase(0, "baseline").end(30).ops("POST /posts", 0, 30).history())
    assert parse_target("writes.recovery_time < 5s").evaluate(facts).ok is None
