"""Drift is a part of the verdict and of every report, where somebody watched for it."""

import random
from collections.abc import Callable
from pathlib import Path

from results import report
from results.audit.finding import AuditReport
from results.drifts import drifts_of, records_of
from results.history import GAUGES, Gauge, History, Log
from results.judgements import of_drifts
from results.verdict import Verdict, judge
from tests.unit.results.histories import SyntheticRun

LENGTH_S = 600


def soak(
    directory: Path, level: Callable[[float], float], *, length: int = LENGTH_S, member: str = "api1"
) -> History:
    run = SyntheticRun(directory).drill(targets=["all.error_rate < 5% in fault"])
    run.phase(0, "warmup").phase(5, "baseline").phase(20, "fault").phase(length, "recovery").end(length + 20)
    run.info.for_drift = True
    run.ops("GET /feed", 0, length + 20, rate=10).generator(0, length + 20, planned=10, sent=10)
    log = Log[Gauge](directory / GAUGES)
    log.append(*(Gauge(float(t), member, "rss_mib", level(t)) for t in range(0, length, 5)))
    log.close()
    return run.history()


def verdict_of(history: History) -> Verdict:
    return judge(history, None)


def test_a_run_that_was_not_watched_for_drift_has_none(tmp_path: Path) -> None:
    history = soak(tmp_path, lambda t: 100 + t / 5)
    history.run.for_drift = False
    assert history.gauges
    assert drifts_of(history) == []


def test_a_leak_fails_the_soak(tmp_path: Path) -> None:
    verdict = verdict_of(soak(tmp_path, lambda t: 100 + t / 5))
    assert verdict.verdict == "fail"
    assert "rss_mib of api1 creeps up: from 1" in verdict.why[0]


def test_a_steady_soak_passes(tmp_path: Path) -> None:
    verdict = verdict_of(soak(tmp_path, lambda t: 100 + t % 50))
    assert verdict.verdict == "pass"
    assert {drift.trend for drift in verdict.drifts} == {"steady"}


def test_what_holds_the_data_may_grow(tmp_path: Path) -> None:
    verdict = verdict_of(soak(tmp_path, lambda t: 100 + t / 5, member="store"))
    growth = next(drift for drift in verdict.drifts if drift.member == "store")
    assert (growth.trend, growth.judged) == ("rising", False)
    assert verdict.verdict == "pass"


def test_a_soak_that_is_too_short_proves_nothing(tmp_path: Path) -> None:
    verdict = verdict_of(soak(tmp_path, lambda t: 100 + t, length=60))
    assert verdict.verdict == "invalid"
    assert any(why.startswith("drift is too short to judge") for why in verdict.why)


def test_latency_of_feed_reads_is_watched_too(tmp_path: Path) -> None:
    records = records_of(soak(tmp_path, lambda t: 1.0))
    assert ("feed reads", "latency_p95_ms") in records
    assert len(records["api1", "rss_mib"]) == LENGTH_S // 5


def test_every_report_tells_of_drift(tmp_path: Path) -> None:
    verdict_of(soak(tmp_path, lambda t: 100 + t / 5))
    paths = report.write(tmp_path)
    assert "rss_mib of api1 | **rising**" in paths.markdown.read_text()
    assert 'classname="synthetic.drift" name="rss_mib of api1"' in paths.junit.read_text()
    assert "<h2>Drift</h2>" in paths.html.read_text()


def test_an_audit_does_not_change_what_drifts(tmp_path: Path) -> None:
    history = soak(tmp_path, lambda t: 100 + t / 5)
    with_audit = judge(history, AuditReport())
    assert [drift.trend for drift in with_audit.drifts] == [drift.trend for drift in drifts_of(history)]


def test_of_many_steady_records_none_creeps_by_chance(tmp_path: Path) -> None:
    rng = random.Random(5)
    run = SyntheticRun(tmp_path).phase(0, "baseline").end(LENGTH_S)
    run.info.for_drift = True
    log = Log[Gauge](tmp_path / GAUGES)
    for number in range(200):
        for t in range(0, LENGTH_S, 10):
            log.append(Gauge(float(t), f"member{number}", "open_files", 60 + rng.gauss(0, 30)))
    log.close()
    assert {drift.trend for drift in drifts_of(run.history())} == {"steady"}


def test_a_passing_soak_says_it_in_one_line(tmp_path: Path) -> None:
    history = soak(tmp_path, lambda t: 100)
    found = list(of_drifts(drifts_of(history)))
    assert [judgement.why for judgement in found] == ["nothing creeps up: 2 records"]
