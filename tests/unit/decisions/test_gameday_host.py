"""A whole game day with a room of made-up people, and drills that only pretend."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from chaos.drill import Drill
from chaos.errors import CouldNotRunError, InterruptedRunError
from chaos.gameday import host as hosting
from chaos.gameday.day import Day, read
from chaos.gameday.host import Host, Room
from chaos.gameday.plan import Plan, Station
from chaos.gameday.talk import Silence, Talk, Typing
from chaos.live import PlainView, View
from chaos.runner import Ending
from chaos.session import Finished, Request
from chaos.stop import Stop
from compose.waiting import NeverHappenedError
from results.quality import Quality
from results.verdict import AuditSums, Recoveries, Verdict

PLAN = Plan(
    gameday="day",
    title="The day",
    briefing="We break things.",
    stations=[
        Station("first", "The first.", expect=["it holds"], ask=["Who was paged?"]),
        Station("second", "The second."),
    ],
)
DRILLS = [Drill("first", "Does it hold?"), Drill("second", "Does it <hold>?")]


class People:
    """Say their lines in turn, and press their keys while a drill runs."""

    def __init__(self, lines: Sequence[str], keys: Sequence[str] = ()) -> None:
        self.lines, self.pressed, self.questions = list(lines), list(keys), list[str]()

    async def ask(self, question: str) -> str:
        self.questions.append(question)
        return self.lines.pop(0)

    @contextmanager
    def keys(self, on_key: Callable[[str], None]) -> Iterator[None]:
        for key in self.pressed:
            on_key(key)
        yield


class Stage:
    """Stands in for `run_drill`: gives the verdicts that it was told, or fails."""

    def __init__(self, *outcomes: str | Exception) -> None:
        self.outcomes, self.seeds = list(outcomes), list[int]()

    async def run_drill(self, request: Request, view: View, stop: Stop) -> Finished:
        self.seeds.append(request.seed)
        await asyncio.sleep(0)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        ending: Ending = "interrupted" if stop.asked.is_set() else "done"
        verdict = Verdict(
            f"run-of-{request.drill.drill}", request.drill.drill, "embedded", outcome, ["because"], [], [],
            AuditSums(), Recoveries(), Quality(),
        )  # fmt: skip
        return Finished(verdict, ending, request.runs / verdict.run, request.runs / "report.html")


async def _at_once() -> None:
    """The stack is always ready."""


@asynccontextmanager
async def a_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, talk: Talk, stage: Stage, stop: Stop | None = None
) -> AsyncIterator[tuple[Host, Day]]:
    monkeypatch.setattr(hosting, "run_drill", stage.run_drill)
    console = Console(file=StringIO(), width=100)
    request = Request(drill=DRILLS[0], seed=1, home=tmp_path, runs=tmp_path)
    day = Day.begin(PLAN, "embedded")
    room = Room(talk, PlainView(console), console, stop or Stop(), ready=_at_once)
    yield Host(PLAN, DRILLS, request, room, day, tmp_path), day


async def test_everything_that_was_said_is_in_the_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    people = People(
        [
            *("it will hold for sure", "", "it held", "nobody", "write a runbook", "add an alert", ""),
            *("", "looked fine", ""),
            *("do this monthly", ""),
        ]
    )
    async with a_day(monkeypatch, tmp_path, people, Stage("pass", "fail")) as (host, _):
        await host.lead()
    day = read(tmp_path)
    first, second = day.stops
    assert [(each.topic, each.text) for each in first.remarks] == [
        ("expected", "it holds"),
        ("expected", "it will hold for sure"),
        ("observed", "it held"),
        ("answer", "nobody"),
        ("follow-up", "write a runbook"),
        ("follow-up", "add an alert"),
    ]
    assert next(each for each in first.remarks if each.topic == "answer").asked == "Who was paged?"
    assert (first.verdict, second.verdict, day.ending) == ("pass", "fail", "done")
    assert [each.text for _, each in day.follow_ups] == ["write a runbook", "add an alert", "do this monthly"]
    assert all(each.at.endswith("+00:00") for each in first.remarks)
    assert not people.lines


async def test_the_reports_tell_the_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    people = People(["", "ok & well", "", "todo", "", "", "", "", ""])
    async with a_day(monkeypatch, tmp_path, people, Stage("pass", "invalid")) as (host, _):
        await host.lead()
    markdown = (tmp_path / "report.md").read_text()
    assert "## 1. first: pass" in markdown
    assert "- [ ] todo (first)" in markdown
    page = (tmp_path / "report.html").read_text()
    assert "../run-of-first/report.html" in page
    assert "ok &amp; well" in page
    assert "Does it &lt;hold&gt;?" in page
    assert "http" not in page.replace("http-equiv", "")


async def test_a_rehearsal_asks_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with a_day(monkeypatch, tmp_path, Silence(), Stage("pass", "pass")) as (host, day):
        await host.lead()
    assert (day.ending, day.exit_code) == ("done", 0)
    assert [each.text for each in day.stops[0].remarks] == ["it holds"]


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [(["pass", "pass"], 0), (["invalid", "pass"], 3), (["invalid", "fail"], 1), (["pass", "fail"], 1)],
)
async def test_the_exit_status_is_that_of_the_worst_drill(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdicts: list[str], code: int
) -> None:
    async with a_day(monkeypatch, tmp_path, Silence(), Stage(*verdicts)) as (host, day):
        await host.lead()
    assert day.exit_code == code


def test_a_day_without_a_drill_has_shown_nothing() -> None:
    assert Day.begin(PLAN, "embedded").exit_code == 3


async def test_a_drill_that_cannot_run_does_not_end_the_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage(CouldNotRunError("the swarm did not come"), "pass")
    async with a_day(monkeypatch, tmp_path, Silence(), stage) as (host, day):
        await host.lead()
    assert (day.stops[0].verdict, day.stops[0].why) == ("could not run", ["the swarm did not come"])
    assert (day.stops[1].verdict, day.exit_code) == ("pass", 3)


async def test_what_could_not_run_can_be_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stage = Stage(CouldNotRunError("not yet"), CouldNotRunError("not yet"), "pass", "pass")
    people = People(["", "r", "r", "it took three", "", "", "", "", "", ""])
    async with a_day(monkeypatch, tmp_path, people, stage) as (host, day):
        await host.lead()
    assert [stop.verdict for stop in day.stops] == ["pass", "pass"]
    assert not stage.outcomes


async def test_a_stack_that_is_not_ready_is_no_place_for_a_drill(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage()
    async with a_day(monkeypatch, tmp_path, Silence(), stage) as (host, day):

        async def never() -> None:
            raise NeverHappenedError("api1 becoming ready", 60, "refused")

        host._room = replace(host._room, ready=never)
        await host.lead()
    assert [stop.verdict for stop in day.stops] == ["could not run", "could not run"]
    assert "api1 becoming ready did not happen within 60 s" in day.stops[0].why[0]
    assert stage.seeds == []


async def test_a_station_can_be_skipped_and_the_day_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage()
    async with a_day(monkeypatch, tmp_path, People(["s", "q"]), stage) as (host, _):
        await host.lead()
    day = read(tmp_path)
    assert [(stop.drill, stop.verdict) for stop in day.stops] == [("first", "skipped")]
    assert (day.ending, stage.seeds) == ("ended early", [])


async def test_the_abort_key_stops_the_drill_and_not_the_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    people = People(["", "", "", "", "", "", "", ""], keys=["a"])
    async with a_day(monkeypatch, tmp_path, people, Stage("invalid", "invalid")) as (host, day):
        await host.lead()
    assert [stop.aborted for stop in day.stops] == [True, True]
    assert [each.topic for each in day.stops[1].remarks] == ["abort"]
    assert day.ending == "done"


async def test_notes_carry_the_time_and_are_on_disk_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    people = People([""], keys=[*"nphone rings\n", *"nnever mind\x1b"])
    async with a_day(monkeypatch, tmp_path, people, Stage(RuntimeError("a mistake of ours"))) as (host, _):
        with pytest.raises(RuntimeError):
            await host.lead()
    assert [(each.topic, each.text) for each in read(tmp_path).stops[0].remarks] == [
        ("expected", "it holds"),
        ("note", "phone rings"),
    ]


async def test_a_signal_ends_the_drill_and_the_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stop = Stop()

    class Signalled(Stage):
        async def run_drill(self, request: Request, view: View, own: Stop) -> Finished:
            stop.ask("SIGTERM")
            await asyncio.wait_for(own.asked.wait(), 5)
            return await super().run_drill(request, view, own)

    async with a_day(monkeypatch, tmp_path, Silence(), Signalled("invalid"), stop) as (host, _):
        with pytest.raises(InterruptedRunError):
            await host.lead()
    day = read(tmp_path)
    assert (day.ending, len(day.stops), day.stops[0].aborted) == ("interrupted", 1, True)


def test_typing_a_note() -> None:
    notes: list[str] = []
    aborts: list[bool] = []
    typing = Typing(lambda: aborts.append(True), notes.append)
    for key in "nban\x7fd\n":
        typing.press(key)
    assert (notes, aborts) == (["bad"], [])
    for key in "x a":
        typing.press(key)
    assert aborts == [True]
    typing.press("n")
    typing.press("a")
    assert typing.hint.startswith("note: a")
    assert aborts == [True]
