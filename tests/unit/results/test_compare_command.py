"""The command, on synthetic runs in a directory."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chaos.commands.compare import compare
from results.audit.finding import AuditReport, Finding
from results.verdict import judge

from .histories import SyntheticRun

KEPT = Finding("no_acknowledged_write_lost", True, 9, text="all there")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """`same1` and `same2` are alike, `slow` is slow, `broken` is invalid."""
    for name, latency_s, failed in (
        ("same1", 0.02, 0.0),
        ("same2", 0.02, 0.0),
        ("slow", 0.2, 0.0),
        ("broken", 0.02, 1.0),
    ):
        run = SyntheticRun(tmp_path / name).usual_course().drill(targets=["feed.error_rate < 90% in fault"])
        run.info.run = name
        run.ops("GET /feed", 0, 65, latency_s=latency_s, failed=failed).ops("POST /posts", 0, 65)
        judge(run.history(), AuditReport(findings=[KEPT]))
    return tmp_path


def call(runs: Path, *arguments: str) -> Result:
    return CliRunner().invoke(compare, [*arguments, "--runs", str(runs)])


def test_alike_runs_exit_with_0(runs: Path) -> None:
    result = call(runs, "same1", "same2")
    assert result.exit_code == 0
    assert "No clear difference in any of" in result.output


def test_a_regression_exits_with_1_and_is_named(runs: Path) -> None:
    result = call(runs, "same1", "slow")
    assert result.exit_code == 1
    assert "feed.latency.p50" in result.output
    assert "x 9.94" in result.output


def test_an_invalid_run_exits_with_3_unless_something_is_worse(runs: Path) -> None:
    assert call(runs, "broken", "same1").exit_code == 3
    assert call(runs, "broken", "same1", "slow").exit_code in (1, 3)


def test_repeated_runs_are_joined_by_commas(runs: Path) -> None:
    [comparison] = json.loads(call(runs, "same1,same2", "same2,same1", "--json").output)
    assert (comparison["a"], comparison["b"]) == (["same1", "same2"], ["same2", "same1"])


def test_a_baseline_is_kept_and_compared_with(runs: Path) -> None:
    baseline = runs / "new" / "baseline.json"
    assert call(runs, "same1", "--save-baseline", str(baseline)).exit_code == 0
    assert call(runs, "same2", "--baseline", str(baseline)).exit_code == 0
    before = baseline.read_bytes()
    result = call(runs, "slow", "--baseline", str(baseline), "--save-baseline", str(baseline))
    assert result.exit_code == 1
    assert baseline.read_bytes() == before


def test_an_invalid_run_is_no_baseline(runs: Path) -> None:
    call(runs, "broken", "--save-baseline", str(runs / "baseline.json"))
    assert not (runs / "baseline.json").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("same1",), "there is nothing to compare with"),
        (("same1", "nothere"), "no run 'nothere'"),
        (("same1", "--baseline", "/nonexistent/b.json"), "there is no baseline"),
    ],
)
def test_mistakes_are_one_sentence(runs: Path, arguments: tuple[str, ...], sentence: str) -> None:
    result = call(runs, *arguments)
    assert sentence in str(result.exception)
