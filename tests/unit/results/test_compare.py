from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from rich.console import Console

from results.audit.finding import AuditReport, Finding
from results.compare import Change, Comparison, compare
from results.comparison_table import render
from results.history import OpSecond
from results.latency import record
from results.profile import Profile, load_baseline, profile_of, save_baseline
from results.verdict import judge

from .histories import SyntheticRun

KEPT = Finding("no_acknowledged_write_lost", True, 9, text="all there")


@cache
def measured(
    seed: int,
    *,
    slower_ms: float = 0.0,
    failing: float = 0.0,
    stale_s: float = 0.0,
    lost: int = 0,
    name: str = "nightly",
) -> Profile:
    """A run whose latencies, errors and staleness are drawn at random, as those of real runs are."""
    rng, run = Random(seed), SyntheticRun(Path(mkdtemp(prefix="feedstorm-test-"))).usual_course()
    run.info.run, run.info.drill = (
        f"run-{seed}",
        {"drill": name, "targets": ["feed.error_rate < 90% in fault"]},
    )
    for second in range(65):
        for op, rate in (("GET /feed", 40), ("POST /posts", 8), ("PUT /posts/{id}/like", 2)):
            row = OpSecond(second, "w1", op, ok={}, failed={})
            for _ in range(rate):
                bad = rng.random() < failing + 0.002
                record(row.failed if bad else row.ok, rng.lognormvariate(-5, 0.6) + slower_ms / 1000)
            run.series.append(row)
        run.stale(second, rng.lognormvariate(-2, 0.4) + stale_s)
    try:
        judge(run.history(), AuditReport(acknowledged=9, lost=lost, findings=[KEPT]))
        return profile_of(run.directory)
    finally:
        rmtree(run.directory)


def words(comparison: Comparison) -> dict[str, set[str]]:
    """Word -> the measures it was said of."""
    found: dict[str, set[str]] = {"worse": set(), "better": set(), "no clear difference": set()}
    for change in comparison.changes:
        found[change.word].add(change.measure)
    return found


def test_two_runs_of_the_same_show_no_clear_difference() -> None:
    for seed in range(0, 6, 2):
        comparison = compare([measured(seed)], [measured(seed + 1)])
        assert words(comparison)["worse"] | words(comparison)["better"] == set()
        assert len(comparison.changes) > 30
        assert comparison.exit_code == 0


def test_fifty_milliseconds_more_are_worse_in_every_latency() -> None:
    comparison = compare([measured(1)], [measured(2, slower_ms=50)])
    found = words(comparison)
    latencies = {change.measure for change in comparison.changes if ".latency." in change.measure}
    assert latencies
    assert found["worse"] == latencies
    assert comparison.exit_code == 1


def test_the_same_the_other_way_round_is_better() -> None:
    comparison = compare([measured(2, slower_ms=50)], [measured(1)])
    assert all(".latency." in measure for measure in words(comparison)["better"])
    assert words(comparison)["better"]
    assert comparison.exit_code == 0


def test_more_errors_are_worse_by_a_difference_not_a_ratio() -> None:
    comparison = compare([measured(1)], [measured(2, failing=0.05)])
    change = next(each for each in comparison.changes if each.measure == "all.error_rate in fault")
    assert (change.word, change.is_difference) == ("worse", True)
    assert change.change == pytest.approx(5, abs=1.5)
    assert (change.low or 0) < 5 < (change.high or 0)


def test_more_staleness_is_worse() -> None:
    found = words(compare([measured(1)], [measured(2, stale_s=1)]))
    assert "feed.staleness.p50 in recovery" in found["worse"]
    assert all(".staleness." in measure for measure in found["worse"])


def test_a_single_lost_write_is_worse() -> None:
    comparison = compare([measured(1)], [measured(2, lost=1)])
    assert words(comparison)["worse"] == {"acknowledged writes lost"}


def test_a_write_lost_in_one_of_several_runs_is_worse() -> None:
    before, after = [measured(1)] * 3, [measured(1), measured(1), deepcopy(measured(1))]
    after[2].counts = {"acknowledged writes lost": 1, "writes applied twice": 0}
    assert words(compare(before, after))["worse"] == {"acknowledged writes lost"}


def test_repeated_runs_show_smaller_changes() -> None:
    slower, before = "feed.latency.p50 in baseline", [measured(seed) for seed in range(3)]
    after = [measured(seed, slower_ms=2.4) for seed in range(3, 6)]
    [change] = [each for each in compare(before, after).changes if each.measure == slower]
    assert change.change == pytest.approx(1.36, abs=0.05)
    assert change.word == "worse"
    [single] = [each for each in compare(before[:1], after[:1]).changes if each.measure == slower]
    assert (single.low or 0) < 1.36


def test_an_outage_that_became_longer_is_worse() -> None:
    before, after = deepcopy(measured(1)), deepcopy(measured(2))
    key = "outage of writes after kill mongo:primary"
    before.times[key], after.times[key] = 6.0, 10.0
    assert key in words(compare([before], [after]))["no clear difference"]
    after.times[key] = 16.0
    assert words(compare([before], [after]))["worse"] == {key}
    before.times[key] = 0.0
    assert words(compare([before], [after]))["worse"] == {key}


def test_an_invalid_run_makes_a_comparison_doubtful() -> None:
    good, doubtful = measured(1), deepcopy(measured(2))
    doubtful.verdict, doubtful.why = "invalid", ["the load generator was saturated"]
    comparison = compare([good], [doubtful])
    assert comparison.warnings == ["run-2 is invalid: the load generator was saturated"]
    assert comparison.exit_code == 3


def test_different_drills_are_named() -> None:
    comparison = compare([measured(1)], [measured(2, name="redis-kill")])
    assert comparison.warnings == ["these are different drills: nightly, redis-kill"]


def test_nothing_in_common_is_no_pass() -> None:
    a, b = Profile("a", "d", "embedded", "pass", []), Profile("b", "d", "embedded", "pass", [])
    assert compare([a], [b]).exit_code == 3


def test_the_same_seed_gives_the_same_intervals() -> None:
    a, b = measured(1), measured(2)
    assert compare([a], [b], seed=5) == compare([a], [b], seed=5)
    assert compare([a], [b], seed=5) != compare([a], [b], seed=6)


def test_a_baseline_is_kept_in_a_file(tmp_path: Path) -> None:
    profiles = [measured(1)]
    save_baseline(profiles, tmp_path / "baseline.json")
    assert load_baseline(tmp_path / "baseline.json") == profiles
    (tmp_path / "baseline.json").write_text("{}")
    with pytest.raises(ValueError, match="is not a baseline"):
        load_baseline(tmp_path / "baseline.json")


def test_a_run_that_was_never_judged_has_no_profile(tmp_path: Path) -> None:
    SyntheticRun(tmp_path).history()
    with pytest.raises(FileNotFoundError, match="never judged"):
        profile_of(tmp_path)


def printed(comparison: Comparison, *, everything: bool = False) -> str:
    console = Console(width=160, no_color=True)
    with console.capture() as capture:
        console.print(render(comparison, everything=everything))
    return capture.get()


def test_only_what_changed_is_printed_unless_asked() -> None:
    changes = [
        Change("feed.latency.p50 in fault", "ms", 5, 55, 11.0, 9.5, 12.5, "worse"),
        Change("all.error_rate in fault", "%", 3, 2.8, -0.2, -1.0, 0.6, "no clear difference"),
    ]
    text = printed(Comparison(["a"], ["b"], changes, []))
    assert "feed.latency.p50 in fault    5 ms  55 ms    x 11  x 9.5 .. x 12.5  worse" in text
    assert "error_rate" not in text
    assert "1 worse, 0 better, no clear difference in 1 measure." in text
    assert "-0.2 %" in printed(Comparison(["a"], ["b"], changes, []), everything=True)


def test_no_difference_is_said_in_one_sentence() -> None:
    change = Change("all.rate in fault", "/s", 60, 61, 1.02, 0.9, 1.1, "no clear difference")
    assert "No clear difference in any of 1 measure." in printed(Comparison(["a"], ["b"], [change], []))
    assert "nothing to compare" in printed(Comparison(["a"], ["b"], [], []))
