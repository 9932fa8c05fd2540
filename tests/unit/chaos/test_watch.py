import asyncio
from pathlib import Path

from chaos.watch import StackWatch
from compose.stack import State
from compose.waiting import wait_until
from results.history import Clock, Event, MemberChange, Note, Topology
from tests.unit.chaos.fakes import FakeStack


class Scripted(FakeStack):
    """A stack whose primary is looked up in a list, one entry a look; the last entry stays."""

    def script(self, *primaries: str | None) -> None:
        self._script = list(primaries)

    def primary(self) -> str | None:
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]


async def watch(stack: FakeStack, enough: int) -> list[Event]:
    events: list[Event] = []
    running = asyncio.create_task(StackWatch(stack, Clock(), events.append).run())
    await wait_until(lambda: len(events) >= enough, f"{enough} events", within_s=30)
    running.cancel()
    return events


def primaries(events: list[Event]) -> list[str | None]:
    return [event.primary for event in events if isinstance(event, Topology)]


async def test_who_is_primary_is_told_when_it_changes(tmp_path: Path) -> None:
    stack = Scripted(tmp_path)
    stack.script("mongo1", "mongo1", None, None, None, "mongo2")
    assert primaries(await watch(stack, 3)) == ["mongo1", None, "mongo2"]


async def test_one_look_without_an_answer_is_not_the_end_of_a_primary(tmp_path: Path) -> None:
    stack = Scripted(tmp_path)
    stack.script("mongo1", None, "mongo1", None, "mongo1", "mongo2")
    assert primaries(await watch(stack, 2)) == ["mongo1", "mongo2"]


async def test_the_end_of_a_primary_is_dated_back_to_the_first_look_without_one(tmp_path: Path) -> None:
    stack = Scripted(tmp_path)
    stack.script("mongo1", None, None, "mongo2")
    _, gone, back = [event for event in await watch(stack, 3) if isinstance(event, Topology)]
    assert gone.primary is None
    assert back.t - gone.t > 0.3, "two looks and the pause between them"


async def test_members_that_change_state_are_told(tmp_path: Path) -> None:
    stack = Scripted(tmp_path)
    stack.script("mongo1")
    stack.control.states["redis"] = State.DOWN
    changes = [event for event in await watch(stack, 2) if isinstance(event, MemberChange)]
    assert [(change.member, change.state) for change in changes] == [("redis", "down")]


async def test_a_look_that_fails_is_noted_once_and_the_next_one_is_taken(tmp_path: Path) -> None:
    stack = Scripted(tmp_path)
    stack.script("mongo1")
    looks = 0

    def primary() -> str | None:
        nonlocal looks
        looks += 1
        if looks < 4:
            raise OSError("too many open files")
        return "mongo1"

    stack.primary = primary  # type: ignore[method-assign]  # a stack that cannot be looked at for a while
    events = await watch(stack, 2)
    assert [event.text for event in events if isinstance(event, Note)] == [
        "the stack could not be looked at: too many open files"
    ]
    assert primaries(events) == ["mongo1"]
