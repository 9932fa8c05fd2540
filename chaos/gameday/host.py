"""Leads a room through its game day: briefing, expectation, drill, observation, follow-ups; one by one.

The record of the day is written after every step, so that a day that ends early has a report too.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from chaos.drill import Drill
from chaos.errors import ChaosError, InterruptedRunError
from chaos.gameday import page
from chaos.gameday.day import Day, Remark, Topic, now, remark
from chaos.gameday.day import Stop as Visit
from chaos.gameday.plan import Plan, Station
from chaos.gameday.talk import Talk, Typing
from chaos.gameday.view import GamedayView
from chaos.live import View
from chaos.session import Finished, Request, run_drill
from chaos.stop import Stop
from compose.stack import StackError
from compose.waiting import NeverHappenedError
from results import summary

COULD_NOT_RUN = "could not run"
SKIPPED = "skipped"
_GO, _SKIP, _END = "", "s", "q"
_AGAIN = "It could not be run. r tries again, Enter goes on:"


@dataclass(frozen=True)
class Room:
    """Where the day takes place: who talks, what is shown, where results are printed."""

    talk: Talk
    view: View
    console: Console
    stop: Stop
    ready: Callable[[], Awaitable[None]]
    """Returns when every part of the stack does its work; raises StackError or NeverHappenedError."""


class _DayIsOverError(Exception):
    """Somebody has asked for the end of the day."""


class Host:
    """Use once: `await Host(...).lead()`. The stack of `request` has to be up."""

    def __init__(
        self, plan: Plan, drills: list[Drill], request: Request, room: Room, day: Day, directory: Path
    ) -> None:
        self._plan, self._drills, self._request = plan, drills, request
        self._room, self._day, self._directory = room, day, directory

    async def lead(self) -> None:
        """Raises InterruptedRunError if a signal ended the day; what was done until then is written."""
        self._day.ending = "interrupted"
        try:
            self._show(self._plan.title, self._plan.briefing)
            for role, what in self._plan.roles.items():
                self._say(f"{role}: {what}")
            for number, (station, drill) in enumerate(zip(self._plan.stations, self._drills, strict=True), 1):
                await self._visit(number, station, drill)
            self._day.remarks += [
                each async for each in self._all("follow-up", "One more follow-up for the whole day?")
            ]
            self._day.ending = "done"
        except _DayIsOverError:
            self._day.ending = "ended early"
        finally:
            self._day.ended_at = now()
            self.write()

    def write(self) -> None:
        """The record and both reports, as far as the day has come."""
        self._day.write(self._directory)
        page.write(self._day, self._directory)

    # -- one station ------------------------------------------------------------------------------

    async def _visit(self, number: int, station: Station, drill: Drill) -> None:
        visit = self._day.visit(station, drill)
        self._show(f"{number} of {len(self._drills)}: {drill.drill}", station.briefing)
        self._say(drill.question, "bold")
        for expectation in station.expect:
            self._say(f"- expected: {expectation}")
            visit.remarks.append(remark("expected", expectation))
        self.write()
        if not await self._may_begin(visit):
            return
        await self._drill(visit, station, drill)
        self.write()
        while visit.verdict == COULD_NOT_RUN and (await self._ask(_AGAIN)).lower() == "r":
            await self._drill(visit, station, drill)
            self.write()
        await self._look_back(visit, station)
        self.write()

    async def _may_begin(self, visit: Visit) -> bool:
        question = "What do you expect? Enter begins, s skips this drill, q ends the day:"
        while True:
            said = await self._ask(question)
            if said.lower() == _END:
                self._day.stops.remove(visit)
                raise _DayIsOverError
            if said.lower() == _SKIP:
                visit.verdict = SKIPPED
                return False
            if said == _GO:
                return True
            visit.remarks.append(remark("expected", said))
            question = "Noted. What else? Enter begins, s skips, q ends the day:"

    async def _drill(self, visit: Visit, station: Station, drill: Drill) -> None:
        request = replace(self._request, drill=drill, seed=station.seed)
        async with self._own_stop() as stop:
            with self._keys(visit, stop):
                finished = await self._run(visit, request, stop)
        if finished is not None:
            visit.run, visit.verdict = finished.directory.name, finished.verdict.verdict
            visit.why, visit.aborted = finished.verdict.why, finished.ending == "interrupted"
            self._room.console.print(summary.render(finished.verdict, finished.report))
        self._room.stop.check()

    async def _run(self, visit: Visit, request: Request, stop: Stop) -> Finished | None:
        """None if there is nothing to judge; why is in the record, and the day goes on."""
        try:
            with self._room.view.step("waiting until every part does its work"):
                await stop.guard(_await(self._room.ready))
            return await run_drill(request, self._room.view, stop)
        except InterruptedRunError:
            visit.verdict, visit.aborted = COULD_NOT_RUN, True
            visit.why = ["it was aborted before its load began"]
        except (ChaosError, StackError, NeverHappenedError) as error:
            visit.verdict, visit.why = COULD_NOT_RUN, [str(error)]
            self._say(f"could not run: {error}", "red")
        return None

    @asynccontextmanager
    async def _own_stop(self) -> AsyncIterator[Stop]:
        """A drill can be stopped by itself, by its abort key; a signal stops it and the day."""
        own = Stop(self._room.view.say)

        async def pass_on() -> None:
            await self._room.stop.asked.wait()
            own.ask(self._room.stop.signal_name)
            await self._room.stop.again.wait()
            own.again.set()

        task = asyncio.create_task(pass_on())
        try:
            yield own
        finally:
            task.cancel()

    @contextmanager
    def _keys(self, visit: Visit, stop: Stop) -> Iterator[None]:
        def note(text: str) -> None:
            self._remark(visit, "note", text)
            self._room.view.say(f"noted: {text}")

        def abort() -> None:
            if not stop.asked.is_set():
                self._remark(visit, "abort", "the abort key was pressed")
            stop.ask("the abort key")

        typing, view = Typing(abort, note), self._room.view

        def press(key: str) -> None:
            typing.press(key)
            if isinstance(view, GamedayView):
                view.refresh()

        if isinstance(view, GamedayView):
            view.typing = typing
        with self._room.talk.keys(press):
            yield

    async def _look_back(self, visit: Visit, station: Station) -> None:
        observed = await self._ask("What did you observe?")
        if observed:
            self._remark(visit, "observed", observed)
        for question in station.ask:
            answer = await self._ask(question)
            if answer:
                visit.remarks.append(remark("answer", answer, question))
        visit.remarks += [
            each async for each in self._all("follow-up", "A follow-up? Enter if there is none:")
        ]

    # -- talking ------------------------------------------------------------------------------------

    async def _all(self, topic: Topic, question: str) -> AsyncIterator[Remark]:
        while said := await self._ask(question):
            yield remark(topic, said)

    async def _ask(self, question: str) -> str:
        return await self._room.stop.guard(self._room.talk.ask(question))

    def _remark(self, visit: Visit, topic: Topic, text: str) -> None:
        visit.remarks.append(remark(topic, text))
        self._day.write(self._directory)

    def _show(self, title: str, text: str) -> None:
        self._room.console.print(Rule(title, align="left"))
        self._room.console.print(Padding(Text(text.strip()), (0, 0, 1, 0)))

    def _say(self, text: str, style: str = "") -> None:
        self._room.console.print(Text(text, style=style), soft_wrap=True)


async def _await(ready: Callable[[], Awaitable[None]]) -> None:
    await ready()
