from pathlib import Path

import pytest

from results.proof import FORMS, ProofResult, parse_proof

from .histories import SyntheticRun


def look(run: SyntheticRun, text: str) -> ProofResult:
    return parse_proof(text).seen(run.history())


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    return SyntheticRun(tmp_path).usual_course().ops("GET /feed", 0, 65)


def test_a_write_that_failed_in_the_fault_is_seen(run: SyntheticRun) -> None:
    proof = look(run.ops("POST /posts", 21, 25, failed=0.5), "a write failed while mongo:primary was down")
    assert (proof.seen, proof.when) == (True, 21)
    assert proof.text == "a write failed while mongo:primary was down"
    assert proof.detail == "40 ops failed, first at 21 s"


def test_a_write_of_unknown_outcome_failed_for_its_user(run: SyntheticRun) -> None:
    assert look(run.ops("POST /posts", 21, 25, unknown=1), "a write failed while mongo:primary was down").seen


def test_a_write_that_failed_before_or_after_is_not_seen(run: SyntheticRun) -> None:
    run.ops("POST /posts", 10, 19, failed=1).ops("POST /posts", 37, 50, failed=1)
    proof = look(run, "a write failed while mongo:primary was down")
    assert not proof.seen
    assert "none of the" in proof.detail


def test_a_read_is_no_write(run: SyntheticRun) -> None:
    run.ops("GET /posts/{id}", 21, 25, failed=1)
    assert not look(run, "a write failed while mongo:primary was down").seen
    assert look(run, "a read failed while mongo:primary was down").seen
    assert look(run, "an op failed while mongo:primary was down").seen


@pytest.mark.parametrize(("fault", "state"), [("kill", "paused"), ("pause", "down"), ("latency", "cut")])
def test_another_kind_of_fault_proves_nothing(tmp_path: Path, fault: str, state: str) -> None:
    run = SyntheticRun(tmp_path).usual_course(fault=fault).ops("POST /posts", 21, 25, failed=1)
    proof = look(run, f"a write failed while mongo:primary was {state}")
    assert (proof.seen, proof.detail) == (False, f"no fault made mongo:primary {state} in this run")


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ("stop", "down"),
        ("pause", "paused"),
        ("step-down", "stepping down"),
        ("partition", "cut"),
        ("latency", "slow"),
        ("flush", "flushed"),
        ("readonly", "read-only"),
        ("bandwidth", "faulty"),
    ],
)
def test_states_name_the_faults_that_make_them(tmp_path: Path, fault: str, state: str) -> None:
    run = (
        SyntheticRun(tmp_path)
        .usual_course(fault=fault, on="link:app->redis")
        .ops("POST /posts", 21, 25, failed=1)
    )
    assert look(run, f"a write failed while link:app->redis was {state}").seen


def test_a_member_or_a_component_can_be_named(run: SyntheticRun) -> None:
    run.ops("POST /posts", 21, 25, failed=1)
    assert look(run, "a write failed while mongo1 was down").seen
    assert look(run, "a write failed while mongo was down").seen
    assert not look(run, "a write failed while redis was down").seen


def test_a_success_can_be_the_proof(run: SyntheticRun) -> None:
    text = "a like succeeded while mongo:primary was down"
    assert not look(run, text).seen
    assert look(run.ops("PUT /posts/{id}/like", 22, 23), text).seen


def test_shed_requests_are_not_just_failed_ones(run: SyntheticRun) -> None:
    text = "a request was shed while mongo:primary was down"
    assert not look(run.ops("GET /feed", 21, 25, failed=1), text).seen
    assert look(run.ops("GET /feed", 21, 25, failed=1, shed=True), text).seen


def test_stale_feeds_are_seen(run: SyntheticRun) -> None:
    text = "a feed was served stale while mongo:primary was down"
    assert not look(run, text).seen
    assert look(run.ops("GET /feed", 22, 24, stale=True), text).seen


def test_latency_that_rose_is_seen(tmp_path: Path) -> None:
    text = "feed latency rose while mongo:primary was down"
    run = SyntheticRun(tmp_path).usual_course().ops("GET /feed", 0, 20)
    assert not look(run.ops("GET /feed", 20, 35, latency_s=0.025), text).seen
    proof = look(run.ops("GET /feed", 20, 35, latency_s=0.4), text)
    assert proof.seen
    assert "p50 went from 20" in proof.detail or "p95 went from 20" in proof.detail


def test_a_new_primary_has_to_be_another_one(tmp_path: Path) -> None:
    text = "a new primary was elected"
    run = SyntheticRun(tmp_path).phase(0, "fault").fault(20, 30).end(60)
    assert not look(run.primary(0, "mongo1").primary(21, None).primary(24, "mongo1"), text).seen
    proof = look(run.primary(28, "mongo3"), text)
    assert (proof.seen, proof.when, proof.detail) == (True, 28, "mongo3 took over from mongo1")


def test_a_primary_that_changed_before_the_fault_proves_nothing(tmp_path: Path) -> None:
    run = (
        SyntheticRun(tmp_path)
        .phase(0, "fault")
        .fault(20, 30)
        .primary(0, "mongo1")
        .primary(10, "mongo2")
        .end(60)
    )
    assert not look(run, "a new primary was elected").seen


@pytest.mark.parametrize("text", ["", "it worked", "a write failed", "a tweet failed while redis was down"])
def test_an_unknown_sentence_is_refused_with_all_known_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a known proof") as caught:
        parse_proof(text)
    assert all(form in str(caught.value) for form in FORMS)
