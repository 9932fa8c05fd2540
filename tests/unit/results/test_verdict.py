from pathlib import Path

import pytest

from results.audit.finding import AuditReport, Finding
from results.history import Abort, Note, OpSecond
from results.judgements import Judgement, Outcome, Weight, doubt, overall
from results.verdict import Verdict, judge, read

from .histories import SyntheticRun

KEPT = Finding("no_acknowledged_write_lost", True, 10, text="10 acknowledged writes found again")
LOST = Finding("no_acknowledged_write_lost", False, 10, 2, "2 of 10 acknowledged writes lost")
GOOD = AuditReport(acknowledged=10, findings=[KEPT])
TARGET = "feed.error_rate < 5% in fault"


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    """A drill that passes, unless something is done to it."""
    run = SyntheticRun(tmp_path).usual_course().ops("GET /feed", 0, 65).ops("POST /posts", 0, 65)
    return run.drill(
        targets=[TARGET], invariants=["no_acknowledged_write_lost"], timeline=[{"inject": "kill"}]
    )


def verdict(run: SyntheticRun, audit: AuditReport | None = GOOD) -> Verdict:
    return judge(run.history(), audit)


def test_a_run_that_kept_everything_passes(run: SyntheticRun) -> None:
    found = verdict(run)
    assert (found.verdict, found.exit_code, found.why) == ("pass", 0, ["all of it held: 2 checks"])


def test_the_verdict_is_on_disk_and_reads_back(run: SyntheticRun) -> None:
    found = verdict(run)
    assert read(run.directory) == found


def test_a_missed_target_fails(run: SyntheticRun) -> None:
    found = verdict(run.ops("GET /feed", 20, 30, failed=1))
    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert found.why == ["target missed: feed.error_rate < 5% in fault, was 40 %"]


def test_a_lost_write_fails(run: SyntheticRun) -> None:
    found = verdict(run, AuditReport(acknowledged=10, lost=2, findings=[LOST]))
    assert found.verdict == "fail"
    assert (found.audit.acknowledged, found.audit.lost) == (10, 2)


def test_a_failed_heal_fails(tmp_path: Path, run: SyntheticRun) -> None:
    found = verdict(run.fault(40, 50, heals=False))
    assert (found.verdict, found.why) == ("fail", ["the fault could not be healed: kill mongo:primary"])


def invalid(found: Verdict, reason: str) -> None:
    assert (found.verdict, found.exit_code) == ("invalid", 3)
    assert any(reason in why for why in found.why), found.why


def test_a_fault_without_effect_is_invalid(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).drill(targets=[TARGET]).usual_course(bites=False).ops("GET /feed", 0, 65)
    invalid(verdict(run, None), "the fault had no effect: kill mongo:primary")


def test_a_fault_that_was_never_proved_is_invalid(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).drill(targets=[TARGET]).usual_course(bites=None).ops("GET /feed", 0, 65)
    invalid(verdict(run, None), "never seen to bite")


def test_a_heal_that_was_never_proved_is_invalid(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).drill(targets=[TARGET]).usual_course(heals=None).ops("GET /feed", 0, 65)
    invalid(verdict(run, None), "never seen to be healed")


def test_a_fault_that_was_never_injected_is_invalid(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).drill(
        targets=["feed.error_rate < 5% in baseline"], timeline=[{"inject": "kill"}]
    )
    run.phase(0, "baseline").end(30).ops("GET /feed", 0, 30)
    invalid(verdict(run, None), "never injected")


def test_a_broken_baseline_is_invalid(run: SyntheticRun) -> None:
    invalid(verdict(run.ops("GET /users/{id}", 5, 20, failed=1, rate=3)), "the baseline was already broken")


def test_a_target_that_was_missed_before_the_fault_is_invalid(run: SyntheticRun) -> None:
    run.drill(targets=["feed.latency.p99 < 10ms in fault"])
    invalid(verdict(run), "feed.latency.p99 was 20")


def test_a_run_without_a_baseline_is_invalid(tmp_path: Path) -> None:
    run = (
        SyntheticRun(tmp_path)
        .drill(targets=[TARGET])
        .phase(0, "fault")
        .end(60)
        .fault()
        .ops("GET /feed", 0, 60)
    )
    invalid(verdict(run, None), "no baseline")


def test_an_empty_baseline_is_invalid(run: SyntheticRun) -> None:
    run.series = [row for row in run.series if not isinstance(row, OpSecond) or row.t >= 20]
    invalid(verdict(run), "too few samples: 0 ops in the baseline")


@pytest.mark.parametrize(
    ("load", "reason"),
    [({"cpu": 0.97}, "saturated"), ({"slip_s": 0.3}, "saturated"), ({"planned": 40}, "fell short")],
)
def test_a_generator_that_did_not_keep_up_is_invalid(
    run: SyntheticRun, load: dict[str, float], reason: str
) -> None:
    invalid(verdict(run.generator(0, 65, **load)), reason)  # type: ignore[arg-type]  # parametrized


def test_a_lost_worker_is_invalid(run: SyntheticRun) -> None:
    invalid(verdict(run.worker(30, "lost", "w2")), "load worker lost: w2")


def test_negative_staleness_is_clock_skew(run: SyntheticRun) -> None:
    invalid(verdict(run.stale(30, -3.0)), "clock skew: 1 staleness sample below 0 s")


def test_too_few_samples_are_invalid(run: SyntheticRun) -> None:
    run.drill(targets=["likes.error_rate < 5% in fault"])
    invalid(verdict(run), "no data for likes.error_rate < 5% in fault")


def test_no_staleness_sample_is_invalid(run: SyntheticRun) -> None:
    run.drill(targets=["feed.staleness.p99 < 5s in recovery"])
    invalid(verdict(run), "not one staleness sample of feed in recovery")


def test_an_unseen_proof_is_invalid(run: SyntheticRun) -> None:
    run.drill(proof=["a write failed while mongo:primary was down"])
    invalid(verdict(run), "the proof was not seen: a write failed while mongo:primary was down")


def test_an_audit_that_could_not_run_is_invalid(run: SyntheticRun) -> None:
    invalid(
        verdict(run, AuditReport(error="could not read 'posts'")), "could not run: could not read 'posts'"
    )


def test_an_audit_that_did_not_run_is_invalid(run: SyntheticRun) -> None:
    invalid(verdict(run, None), "the audit did not run")


def test_an_audit_that_left_an_invariant_out_is_invalid(run: SyntheticRun) -> None:
    run.drill(invariants=["no_acknowledged_write_lost", "counters_exact"])
    invalid(verdict(run), "counters_exact was not audited")


def test_an_audit_with_nothing_to_check_is_invalid(run: SyntheticRun) -> None:
    nothing = Finding("no_acknowledged_write_lost", None, 0, text="nothing was acknowledged")
    invalid(verdict(run, AuditReport(findings=[nothing])), "nothing was acknowledged")


def test_losses_before_the_stack_caught_up_may_only_be_late(run: SyntheticRun) -> None:
    late = AuditReport(acknowledged=10, lost=2, findings=[LOST], caught_up=False, under_way="backlog 5")
    found = verdict(run, late)
    invalid(found, "the stack had not caught up: backlog 5")
    assert found.why[-1].endswith("2 of 10 acknowledged writes lost, perhaps only late")


def test_a_run_that_judged_nothing_is_invalid(run: SyntheticRun) -> None:
    run.drill(targets=[], invariants=[])
    invalid(verdict(run, None), "nothing was judged")


def test_an_interrupted_run_is_invalid(run: SyntheticRun) -> None:
    run.events = [event for event in run.events if event.t < 30]
    invalid(verdict(run.end(30, "interrupted")), "the run was interrupted at 30 s")


def test_a_run_without_an_end_is_invalid(run: SyntheticRun) -> None:
    run.events = [event for event in run.events if event.t < 30]
    invalid(verdict(run), "its runner was killed")


def test_a_run_that_never_began_is_invalid(tmp_path: Path) -> None:
    invalid(verdict(SyntheticRun(tmp_path).drill(targets=[TARGET]), None), "ended before its first phase")


def test_a_met_abort_condition_fails(run: SyntheticRun) -> None:
    run.events.append(Abort(50, "all.error_rate > 90% for 20s", "100 %"))
    found = verdict(run)
    assert found.verdict == "fail"
    assert found.why == ["the run was aborted at 50 s: all.error_rate > 90% for 20s (100 %)"]


def test_an_abort_for_another_reason_is_invalid_and_says_why(run: SyntheticRun) -> None:
    run.events = [event for event in run.events if event.t < 30]
    run.events.append(Note(29, "the swarm ended by itself"))
    invalid(verdict(run.end(30, "aborted")), "the run was aborted at 30 s (the swarm ended by itself)")


def test_an_early_end_is_the_one_reason_for_all_that_was_not_seen_any_more(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path).phase(0, "warmup").phase(5, "baseline").ops("GET /feed", 0, 20, failed=0.5)
    run.drill(targets=[TARGET], proof=["a new primary was elected"], timeline=[{"inject": "kill"}])
    run.events.append(Note(19, "the run ends here: the baseline was already broken"))
    assert verdict(run.end(20, "aborted"), None).why == [
        "the run was aborted at 20 s (the run ends here: the baseline was already broken)",
        "the baseline was already broken: 50 % errors before any fault",
    ]


def test_a_missed_target_under_doubt_is_no_evidence(run: SyntheticRun) -> None:
    run.ops("GET /feed", 20, 30, failed=1).generator(0, 65, cpu=0.97)
    invalid(verdict(run), "target missed")


def test_a_target_that_was_met_is_no_reason_against_a_run(run: SyntheticRun) -> None:
    found = verdict(run.generator(0, 65, cpu=0.97))
    assert found.why == ["the load generator was saturated: 97 % of a core, over 90 %"]


def test_a_lost_write_is_evidence_whatever_the_load_was_like(run: SyntheticRun) -> None:
    run.generator(0, 65, cpu=0.97)
    assert verdict(run, AuditReport(acknowledged=10, lost=2, findings=[LOST])).verdict == "fail"


def test_the_gravest_reason_comes_first(run: SyntheticRun) -> None:
    run.generator(0, 65, cpu=0.97)
    found = verdict(run, AuditReport(acknowledged=10, lost=2, findings=[LOST]))
    assert found.why[0] == "no_acknowledged_write_lost is broken: 2 of 10 acknowledged writes lost"


def test_never_green_by_default() -> None:
    assert overall([]) is Outcome.INVALID
    assert overall([Judgement(Outcome.PASS, "")]) is Outcome.PASS
    assert overall([Judgement(Outcome.PASS, ""), doubt("")]) is Outcome.INVALID
    assert overall([Judgement(Outcome.FAIL, "", Weight.MEASURE), doubt("")]) is Outcome.INVALID
    assert overall([Judgement(Outcome.FAIL, ""), doubt("")]) is Outcome.FAIL


def test_the_worst_rolling_window_of_a_phase_is_shown(run: SyntheticRun) -> None:
    found = verdict(run.ops("GET /feed", 26, 28, failed=1))
    [worst] = [each for each in found.recovery.worst if (each.group, each.phase) == ("feed", "fault")]
    assert worst.from_s <= 26 < 28 <= worst.to_s
    assert worst.error_rate == pytest.approx(40 / 140)
