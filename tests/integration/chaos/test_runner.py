"""The runner on real members and a real proxy, with a stub for the load."""

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from chaos import catalogue, rundir
from chaos.drill import Drill, Phases
from chaos.errors import CouldNotRunError
from chaos.faults.pause import Pause
from chaos.leases import LeaseBook
from chaos.live import PlainView
from chaos.runner import Ending, Run, Runner
from chaos.stacks import arm
from chaos.stop import Stop
from chaos.units import Seconds
from compose.embedded.stack import EmbeddedStack
from compose.stack import State
from compose.waiting import wait_until
from results.history import (
    EVENTS,
    GAUGES,
    Abort,
    End,
    Event,
    Fault,
    Gauge,
    MemberChange,
    Note,
    phases_of,
    read_rows,
)

PHASES = "phases: {warmup: 1s, baseline: 4s, recovery: 2s}"
REST = "targets: [feed.error_rate < 5% in fault]\nproof: [an op failed while redis was paused]"


def drill(timeline: str, more: str = "") -> Drill:
    return catalogue.parse(f"drill: d\nquestion: '?'\n{PHASES}\ntimeline:\n{timeline}\n{REST}\n{more}")


PAUSE = "  - {at: 5s, inject: pause, on: redis, for: 3s}"
LONG_PAUSE = "  - {at: 5s, inject: pause, on: redis, for: 60s}"


@dataclass
class Ran:
    ending: Ending
    events: list[Event]
    directory: Path

    def stages(self) -> list[str]:
        return [f"{event.fault} {event.stage}" for event in self.events if isinstance(event, Fault)]

    def time_of(self, stage: str) -> float:
        return next(event.t for event in self.events if isinstance(event, Fault) and event.stage == stage)


class Hand:
    """Starts runs on the stack, with the stub behaving in a certain way."""

    def __init__(self, stack: EmbeddedStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stack, self._tmp_path, self._monkeypatch = stack, tmp_path, monkeypatch
        self.stop = Stop()

    async def run(self, plan: Drill, behaviour: str = "good") -> Ran:
        directory = rundir.create(self._tmp_path, plan.drill)
        command = [sys.executable, "-m", "tests.integration.chaos.stub_swarm", str(directory), behaviour]
        self._monkeypatch.setattr("chaos.runner.command_line", lambda *_: command)
        runner = Runner(
            Run(plan, 1, directory, self.stack.home),
            arm(self.stack, self.stack.home),
            PlainView(Console(stderr=True)),
            self.stop,
        )
        ending = await runner.run()
        return Ran(ending, list(read_rows(directory / EVENTS, Event)), directory)

    def is_intact(self) -> bool:
        states = (self.stack.control.state(member.name) for member in self.stack.members)
        return not LeaseBook(self.stack.home).all() and all(state == State.RUNNING for state in states)


@pytest.fixture
def hand(services: EmbeddedStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand(services, tmp_path, monkeypatch)


async def test_a_run_goes_through_its_phases_and_its_fault_through_its_stages(hand: Hand) -> None:
    ran = await hand.run(drill(PAUSE))
    assert ran.ending == "done"
    assert ran.stages() == ["pause inject", "pause bites", "pause heal", "pause healed"]
    phases = phases_of(ran.events)
    assert list(phases) == ["warmup", "baseline", "fault", "recovery"]
    assert phases["fault"][0] <= ran.time_of("inject") < phases["fault"][1]
    assert ran.time_of("heal") == pytest.approx(phases["recovery"][0], abs=0.7)
    assert ran.time_of("heal") - ran.time_of("inject") == pytest.approx(3, abs=0.2)
    changes = [f"{event.member} {event.state}" for event in ran.events if isinstance(event, MemberChange)]
    assert changes == ["redis paused", "redis running", "redis ready"] or changes == [
        "redis paused",
        "redis ready",
        "redis running",
    ]
    assert isinstance(ran.events[-1], End)
    assert hand.is_intact()


async def test_two_faults_overlap_and_each_is_healed_at_its_own_time(hand: Hand) -> None:
    ran = await hand.run(drill(PAUSE + "\n  - {at: 6s, inject: kill, on: mongo:secondary, for: 3s}"))
    assert ran.ending == "done"
    inject = {e.fault: e.t for e in ran.events if isinstance(e, Fault) and e.stage == "inject"}
    heal = {e.fault: e.t for e in ran.events if isinstance(e, Fault) and e.stage == "heal"}
    assert inject["pause"] < inject["kill"] < heal["pause"] < heal["kill"]
    assert hand.is_intact()


async def test_the_process_is_seen_down_for_as_long_as_the_history_says(hand: Hand) -> None:
    ran = await hand.run(drill("  - {at: 5s, inject: kill, on: mongo:secondary, for: 3s}"))
    down = next(e.t for e in ran.events if isinstance(e, MemberChange) and e.state == "down")
    back = next(e.t for e in ran.events if isinstance(e, MemberChange) and e.state == "running")
    assert down - ran.time_of("inject") == pytest.approx(0.1, abs=0.4), "a look is taken every 0.2 s"
    assert back - ran.time_of("heal") == pytest.approx(0.1, abs=0.4)


async def test_an_abort_condition_heals_within_five_seconds_of_the_breach(hand: Hand) -> None:
    ran = await hand.run(drill(LONG_PAUSE, "abort_if: [all.error_rate > 90% for 2s]"), "fails-later")
    assert ran.ending == "aborted"
    aborted = next(event for event in ran.events if isinstance(event, Abort))
    assert ran.time_of("heal") - aborted.t < 5
    assert hand.is_intact()


async def test_load_alone_ends_with_its_baseline_even_a_broken_one(hand: Hand) -> None:
    load_alone = Drill("d", "?", phases=Phases(Seconds(1), Seconds(4), recovery=Seconds(0)))
    ran = await hand.run(load_alone, "broken")
    assert ran.ending == "done"
    assert list(phases_of(ran.events)) == ["warmup", "baseline"]
    watched = {gauge.name for gauge in read_rows(ran.directory / GAUGES, Gauge)}
    assert watched <= {"kafka_lag", "feed_outbox_pending"}


async def test_a_broken_baseline_ends_the_run_before_any_fault(hand: Hand) -> None:
    ran = await hand.run(drill(PAUSE), "broken")
    assert ran.ending == "aborted"
    assert ran.stages() == []
    assert any("baseline was already broken" in e.text for e in ran.events if isinstance(e, Note))


async def test_a_swarm_that_dies_ends_the_run_and_everything_is_healed(hand: Hand) -> None:
    ran = await hand.run(drill(LONG_PAUSE), "dies")
    assert ran.ending == "aborted"
    assert any("the stub has died" in event.text for event in ran.events if isinstance(event, Note))
    assert hand.is_intact()


async def test_a_swarm_that_never_begins_is_one_sentence_and_no_fault(hand: Hand) -> None:
    with pytest.raises(CouldNotRunError, match="the stub refuses to begin"):
        await hand.run(drill(PAUSE), "never")
    assert hand.is_intact()


async def test_a_signal_in_the_fault_phase_heals_first(hand: Hand) -> None:
    running = asyncio.create_task(hand.run(drill(LONG_PAUSE)))
    await wait_until(
        lambda: hand.stack.control.state("redis") == State.PAUSED, "redis being frozen", within_s=20
    )
    hand.stop.ask("SIGINT")
    asked_at = time.monotonic()
    await wait_until(hand.is_intact, "everything healed", within_s=5)
    assert time.monotonic() - asked_at < 5
    ran = await running
    assert ran.ending == "interrupted"
    stages = [stage for stage in ran.stages() if stage != "pause bites"]  # the proof may be cut short
    assert stages == ["pause inject", "pause heal", "pause healed"]


async def test_a_fault_that_does_nothing_is_said_to_have_no_effect(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731 - a fault that does nothing
    monkeypatch.setattr(Pause, "inject", nothing)
    ran = await hand.run(drill(PAUSE))
    assert "pause no_effect" in ran.stages()
    assert "pause bites" not in ran.stages()


async def test_a_member_that_something_else_starts_again_is_noticed(hand: Hand) -> None:
    running = asyncio.create_task(hand.run(drill("  - {at: 5s, inject: kill, on: mongo:mongo1, for: 4s}")))
    await wait_until(
        lambda: hand.stack.control.state("mongo1") == State.DOWN, "mongo1 being down", within_s=20
    )
    await asyncio.to_thread(hand.stack.control.start, "mongo1")
    ran = await running
    assert "kill bites" in ran.stages() or "kill no_effect" in ran.stages()
    lost = [event.detail for event in ran.events if isinstance(event, Fault) and event.stage == "no_effect"]
    assert any("before its time" in detail for detail in lost)


async def test_a_role_that_nobody_plays_when_its_time_comes_ends_the_run(hand: Hand) -> None:
    ran = await hand.run(drill("  - {at: 5s, inject: kill, on: api:any, for: 3s}"))
    assert ran.ending == "aborted"
    assert ran.stages() == ["kill no_effect", "kill healed"]
    assert any("plays 'api:any'" in event.text for event in ran.events if isinstance(event, Note))
