"""Runs side by side: medians, verdicts, and what is missing is a hole in the table."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from chaos.drill import Drill, StackWishes
from chaos.errors import InterruptedRunError, UsageError
from chaos.lineup import session
from chaos.lineup.costs import Costs
from chaos.lineup.row import LineUp, Row, cells, markdown, row_of, table
from chaos.lineup.session import as_it_is, run_lineup, strategies
from chaos.live import PlainView, View
from chaos.session import Finished, Request
from chaos.stop import Stop
from results.history import History
from results.verdict import judge
from tests.unit.results.histories import SyntheticRun


def row(variant: str, verdict: str = "pass", errors: float = 0.01, reads: float | None = 2.0) -> Row:
    costs = None if reads is None else Costs(reads, 14.0, 11.0, 8.0, 1200)
    return Row(variant, f"run-{variant}", verdict, {"fault": errors}, {"fault": 0.5}, 0.1, 0.02, costs)


def test_repeated_runs_are_one_column_of_medians() -> None:
    lineup = LineUp("d", 1, "embedded", [row("push", errors=each) for each in (0.01, 0.05, 0.02)])
    assert list(cells(lineup))[:4] == [
        ["", "push"], ["verdict", "3 pass"], ["errors in baseline", "-"], ["errors in fault", "2 %"]
    ]  # fmt: skip


def test_each_variant_has_its_column_in_the_order_of_the_runs() -> None:
    lineup = LineUp("d", 1, "embedded", [row("pull", "fail"), row("push"), row("pull", "pass")])
    assert list(cells(lineup))[:2] == [["", "pull", "push"], ["verdict", "1 fail, 1 pass", "pass"]]


def test_what_was_not_counted_is_a_hole() -> None:
    lines = cells(LineUp("d", 1, "embedded", [row("pull", reads=None), row("push")]))
    assert ["store ops per feed read", "-", "2"] in list(lines)


def test_the_table_and_the_report_say_the_same() -> None:
    lineup = LineUp("d", 1, "embedded", [row("pull"), row("hybrid")])
    console = Console(file=StringIO(), width=200)
    console.print(table(lineup))
    assert isinstance(console.file, StringIO)
    for line in cells(lineup):
        for cell in line:
            assert cell in console.file.getvalue()
            assert cell in markdown(lineup)
    assert "../run-hybrid/report.html" in markdown(lineup)


@pytest.mark.parametrize(
    ("verdicts", "code"), [([], 3), (["pass"], 0), (["pass", "invalid"], 3), (["invalid", "fail"], 1)]
)
def test_the_worst_run_decides(verdicts: list[str], code: int) -> None:
    assert LineUp("d", 1, "embedded", [row("x", verdict) for verdict in verdicts]).exit_code == code


def test_a_row_is_read_from_a_run(tmp_path: Path) -> None:
    history = synthetic(tmp_path)
    judge(history, None)
    found = row_of("push", tmp_path)
    assert found.error_rate["baseline"] == 0
    assert found.feed_p95_s == pytest.approx(0.02, rel=0.02)
    assert found.staleness_p99_s["baseline"] is not None
    assert found.costs is None


def synthetic(directory: Path) -> History:
    run = SyntheticRun(directory).drill(targets=["all.error_rate < 5% in fault"]).usual_course()
    run.ops("GET /feed", 0, 65)
    for second in range(6, 60):
        run.stale(second, 0.2)
    return run.history()


def test_strategies_are_settings_of_the_app() -> None:
    drill = Drill("d", "?", stack=StackWishes(env={"FEED_FALLBACK_RPS": "9"}))
    found = [variant.of(drill).stack.env for variant in strategies("pull, hybrid,pull")]
    assert found == [
        {"FEED_FALLBACK_RPS": "9", "FEED_STRATEGY": "pull"},
        {"FEED_FALLBACK_RPS": "9", "FEED_STRATEGY": "hybrid"},
    ]
    assert as_it_is(drill)[0].of(drill) == drill
    with pytest.raises(UsageError, match="did you mean 'hybrid'"):
        strategies("hybird")


class Stage:
    """Stands in for `run_drill`: leaves a synthetic run, and can be interrupted."""

    def __init__(self, stop: Stop, stop_at: int = 99) -> None:
        self.asked: list[str] = []
        self.stop, self.stop_at = stop, stop_at

    async def run_drill(self, request: Request, view: View, stop: Stop) -> Finished:
        self.asked.append(request.drill.stack.env.get("FEED_STRATEGY", ""))
        await asyncio.sleep(0)
        if len(self.asked) == self.stop_at:
            self.stop.ask("SIGINT")
            raise InterruptedRunError("interrupted")
        directory = request.runs / f"run{len(self.asked)}"
        directory.mkdir(parents=True)
        return Finished(judge(synthetic(directory), None), "done", directory, directory / "report.html")


def request(tmp_path: Path) -> Request:
    return Request(drill=Drill("d", "?"), seed=1, home=tmp_path / "home", runs=tmp_path / "runs")


async def test_variants_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stage = Stage(Stop())
    monkeypatch.setattr(session, "run_drill", stage.run_drill)
    view = PlainView(Console(file=StringIO()))
    lineup, report = await run_lineup(request(tmp_path), strategies("pull,push"), 2, view, stage.stop)
    assert stage.asked == ["pull", "push", "pull", "push"]
    assert [found.variant for found in lineup.rows] == stage.asked
    assert report.read_text().startswith("# d, side by side")


async def test_an_interrupt_keeps_the_runs_until_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage(Stop(), stop_at=2)
    monkeypatch.setattr(session, "run_drill", stage.run_drill)
    view = PlainView(Console(file=StringIO()))
    with pytest.raises(InterruptedRunError):
        await run_lineup(request(tmp_path), strategies("pull,push"), 2, view, stage.stop)
    (written,) = (tmp_path / "runs").glob("*/lineup.json")
    assert '"variant": "pull"' in written.read_text()
    assert '"variant": "push"' not in written.read_text()
