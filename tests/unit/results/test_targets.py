from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.facts import Facts
from results.history import Event, OpSecond, Phase
from results.measures import Series
from results.targets import TargetResult, parse_condition, parse_target

from .histories import SyntheticRun


def judged(run: SyntheticRun, text: str) -> TargetResult:
    return parse_target(text).evaluate(Facts.of(run.history()))


def in_fault(ok: int, failed: int) -> Facts:
    """Ten seconds of fault in which these many ops ended."""
    row = OpSecond(3, "w1", "GET /feed")
    row.ok, row.failed = {50: ok} if ok else {}, {50: failed} if failed else {}
    events: list[Event] = [Phase(0, "fault")]
    return Facts.from_parts(Series([row]), (), [*events, Phase(10, "recovery")])


def test_a_target_is_parsed_into_its_parts() -> None:
    target = parse_target("feed.staleness.p99  <  5s in recovery")
    assert str(target.measure) == "feed.staleness.p99"
    assert (target.limit.comparison, target.limit.value) == ("<", Fraction(5))
    assert target.phase == "recovery"
    assert target.text == "feed.staleness.p99 < 5s in recovery"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("all.error_rate < 5% in fault", Fraction(1, 20)),
        ("all.error_rate < 0.1 % in fault", Fraction(1, 1000)),
        ("writes.latency.p95 <= 800ms in fault", Fraction(4, 5)),
        ("writes.latency.max < 1.5s in fault", Fraction(3, 2)),
        ("all.rate > 50/s in baseline", Fraction(50)),
        ("likes.staleness.max < 1min in fault", Fraction(60)),
        ("writes.recovery_time < 15s", Fraction(15)),
        ("feed.outage < 250ms", Fraction(1, 4)),
    ],
)
def test_limits_are_exact_in_base_units(text: str, value: Fraction) -> None:
    assert parse_target(text).limit.value == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("feeds.error_rate < 5% in fault", "'feeds' is not a group for error_rate: did you mean 'feed'?"),
        ("feed.eror_rate < 5% in fault", "'eror_rate' is not a measure: did you mean 'error_rate'?"),
        ("feed.latency.p98 < 5s in fault", "'p98' is not a statistic of latency: did you mean 'p9"),
        ("feed.latency < 5s in fault", "'' is not a statistic of latency"),
        ("feed.error_rate.p99 < 5% in fault", "'p99' is too much"),
        ("feed.error_rate < 5s in fault", "its unit is %"),
        ("feed.error_rate < 5 in fault", "its unit is %"),
        ("feed.latency.p99 < 5 in fault", "its unit is ms or s or min"),
        ("feed.error_rate = 5% in fault", "is not '<measure> < <limit>'"),
        ("feed.error_rate < many in fault", "is not a limit"),
        ("feed.error_rate < 5%", "does not say when"),
        ("feed.error_rate < 5% in recovry", "'recovry' is not a phase: did you mean 'recovery'?"),
        ("writes.recovery_time < 15s in fault", "belongs to each fault"),
        ("writes.staleness.p99 < 5s in fault", "'writes' is not a group for staleness"),
        ("", "is not '<measure> < <limit>'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_target(text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("failed", "ok"), [(4, True), (5, False), (6, False)])
def test_exactly_five_percent_misses_less_than_five_percent(failed: int, ok: bool) -> None:
    result = parse_target("feed.error_rate < 5% in fault").evaluate(in_fault(100 - failed, failed))
    assert (result.ok, result.observed, result.limit, result.unit) == (ok, failed, 5, "%")


@given(st.integers(20, 3000), st.integers(1, 99), st.data())
def test_error_rates_are_compared_without_rounding(n: int, percent: int, data: st.DataObject) -> None:
    failed = data.draw(st.integers(0, n))
    result = parse_target(f"feed.error_rate < {percent}% in fault").evaluate(in_fault(n - failed, failed))
    if result.ok is not None:
        assert result.ok == (failed * 100 < percent * n)


def test_too_few_ops_give_no_verdict() -> None:
    result = parse_target("feed.error_rate < 5% in fault").evaluate(in_fault(19, 0))
    assert (result.ok, result.samples) == (None, 19)
    assert "20 are needed" in result.why


def test_thirty_ops_without_an_error_do_not_show_less_than_one_percent() -> None:
    target = parse_target("feed.error_rate < 1% in fault")
    assert target.evaluate(in_fault(30, 0)).ok is None
    assert target.evaluate(in_fault(100, 0)).ok is True


def test_latency_needs_successes_not_ops() -> None:
    result = parse_target("feed.latency.p50 < 5s in fault").evaluate(in_fault(3, 200))
    assert (result.ok, result.samples) == (None, 3)


def test_a_group_without_ops_gives_no_verdict() -> None:
    result = parse_target("likes.error_rate < 5% in fault").evaluate(in_fault(100, 0))
    assert (result.ok, result.why) == (None, "not one op of group likes in fault")


def test_a_phase_that_was_never_reached_gives_no_verdict() -> None:
    facts = Facts.from_parts(Series(), (), [Phase(0, "warmup")])
    result = parse_target("feed.error_rate < 5% in fault").evaluate(facts)
    assert (result.ok, result.why) == (None, "the run never reached its fault phase")


def test_a_phase_is_not_diluted_by_the_others(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().ops("GET /feed", 0, 65)
    run.series = [row for row in run.series if not (isinstance(row, OpSecond) and 20 <= row.t < 23)]
    run.ops("GET /feed", 20, 23, failed=1)
    assert judged(run, "feed.error_rate < 5% in fault").observed == 20
    assert judged(run, "feed.error_rate < 5% in recovery").observed == 0


def test_a_frozen_api_shows_in_the_latency_from_the_intended_start(tmp_path: Path) -> None:
    """One op a second for 60 s, the API frozen from 20 s to 30 s: ten arrivals wait 10, 9 ... 1 s."""
    run = SyntheticRun(tmp_path).phase(0, "fault").end(60)
    for second in range(60):
        waits = 30 - second if 20 <= second < 30 else 0.02
        run.ops("GET /feed", second, second + 1, rate=1, latency_s=waits)
    assert judged(run, "feed.latency.p95 < 5s in fault").observed == pytest.approx(7, rel=0.01)
    assert judged(run, "feed.latency.max < 5s in fault").observed == pytest.approx(10, rel=0.01)


def test_staleness_counts_what_never_arrived_at_its_deadline(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course()
    for second in range(36, 56):
        run.stale(second, 0.2)
    assert judged(run, "feed.staleness.max < 5s in recovery").ok is True
    run.stale(50, None, "celebrity")
    result = judged(run, "feed.staleness.max < 5s in recovery")
    assert (result.ok, result.observed, result.samples) == (False, 30, 21)


def test_no_staleness_sample_gives_no_verdict(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course().stale(40, None, outcome="unknown")
    result = judged(run, "feed.staleness.p99 < 5s in recovery")
    assert (result.ok, result.samples) == (None, 0)
    assert result.why == "not one staleness sample of feed in recovery (1 undecided)"


def test_a_few_staleness_samples_are_too_few(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).usual_course()
    for second in range(40, 44):
        run.stale(second, 0.2)
    assert judged(run, "push.staleness.p50 < 5s in recovery").ok is None
    assert judged(run.stale(44, 0.2), "push.staleness.p50 < 5s in recovery").ok is True


# -- abort conditions -----------------------------------------------------------------------


def errors(second: int, failed: int = 10, ok: int = 0) -> OpSecond:
    row = OpSecond(second, "w1", "GET /feed", failed={5: failed} if failed else {})
    row.ok = {5: ok} if ok else {}
    return row


def test_a_condition_is_met_only_after_its_whole_time() -> None:
    condition = parse_condition("all.error_rate > 90% for 5s")
    met = [condition.met([errors(second)], second + 1) for second in range(6)]
    assert met[:4] == [None] * 4
    assert met[4] == "all.error_rate was 100 % over 5 s"


def test_one_good_second_starts_the_count_again() -> None:
    condition = parse_condition("all.error_rate > 90% for 5s")
    rows = [errors(0), errors(1), errors(2, failed=1, ok=9), errors(3), errors(4)]
    assert condition.met(rows, 5) is None
    assert condition.met([errors(5), errors(6), errors(7)], 8) is not None


def test_ops_that_are_still_under_way_do_not_hide_an_outage() -> None:
    """A frozen API: nothing of the last seconds has come back yet, and what has, failed."""
    condition = parse_condition("all.error_rate > 90% for 10s")
    assert condition.met([errors(second) for second in range(5)], 10) is not None


def test_silence_alone_meets_nothing() -> None:
    condition = parse_condition("all.error_rate > 90% for 5s")
    assert condition.met([], 60) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("all.error_rate > 90%", "does not say for how long"),
        ("all.error_rate > 90% for 20", "is not a number of seconds"),
        ("al.error_rate > 90% for 20s", "did you mean 'all'?"),
        ("feed.staleness.p99 > 5s for 20s", "staleness cannot be watched"),
    ],
)
def test_a_bad_condition_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_condition(text)
    assert sentence in str(caught.value)
