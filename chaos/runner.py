"""One run of a drill on a stack that is up: load, faults, healing, and the history of all of it.

The clock of the phases starts when the swarm has joined. Four things can end the load: the plan is
done, an abort condition was met, somebody asked for it (a signal), or the swarm died. Whatever it
was, every fault is healed first; only then is the load drained.
"""

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from chaos import reaper
from chaos.drill import Drill
from chaos.errors import CannotInjectError, ChaosError, InterruptedRunError
from chaos.live import View
from chaos.performer import Performer
from chaos.sampling import Sampler, Sampling
from chaos.scene import Gauge, Scene
from chaos.stop import Stop
from chaos.swarm import Swarm, command_line
from chaos.targets import Arsenal
from chaos.timeline import Act, acts_of, end_of_fault_phase, length_of
from chaos.watch import StackWatch
from compose.stack import State
from results.history import (
    EVENTS,
    Abort,
    Clock,
    End,
    Event,
    Fault,
    Log,
    MemberChange,
    Note,
    Phase,
    PhaseName,
    Topology,
)
from results.targets import parse_condition

BASELINE_ERRORS = 0.05
"""A stack that fails this often before any fault can prove nothing about faults."""
Ending: TypeAlias = Literal["done", "aborted", "interrupted"]
_LOOK_EVERY_S = 0.5
_ROWS_LAG_S = 2
_HURRIED_DRAIN_S = 4.0


@dataclass(frozen=True)
class Run:
    """What is to be run, and where its record goes. `locust` are options beyond those of the drill."""

    drill: Drill
    seed: int
    directory: Path
    home: Path
    locust: tuple[str, ...] = ()


class _HopelessError(ChaosError):
    """Going on would prove nothing."""


class Runner:
    """Use once: `await Runner(...).run()`."""

    def __init__(
        self, run: Run, arsenal: Arsenal, view: View, stop: Stop, sampling: Sampling | None = None
    ) -> None:
        self._run, self._arsenal, self._view, self._stop = run, arsenal, view, stop
        self._drill, self._acts = run.drill, acts_of(run.drill, run.seed)
        self.clock = Clock()
        self._log = Log[Event](run.directory / EVENTS)
        self._gauge = Gauge(run.directory)
        self._watch = StackWatch(arsenal.stack, self.clock, self.record)
        self._sampler = Sampler(sampling or Sampling(), arsenal.stack, run.directory, self.clock)
        rng = random.Random(f"{run.seed}/targets")
        self._performer = Performer(arsenal, run.home, run.directory, self.clock, rng, self.record)
        self._phase: PhaseName | None = None
        self._began = 0.0

    async def run(self) -> Ending:
        """Run the drill to its end, whichever that is.

        Raises:
            CouldNotRunError: the load did not begin. Nothing was injected.
        """
        self._reaper = reaper.start(self._run.home)
        background = [asyncio.create_task(work.run()) for work in (self._watch, self._sampler)]
        ending: Ending = "aborted"
        swarm: Swarm | None = None
        try:
            api, run = self._arsenal.stack.endpoints.api, self._run
            command = command_line(run.drill, run.directory, api, run.seed, run.locust)
            swarm = await Swarm.start(command, run.directory, self.clock.t0)
            with self._view.step("starting the swarm"):
                self._began = await self._stop.guard(swarm.joined())
            with self._view.picture(f"{self._drill.drill} on the {self._arsenal.stack.kind} stack"):
                ending = await self._until_something_ends_it(swarm)
        except InterruptedRunError:
            ending = "interrupted"
            raise
        finally:
            await self._wind_up(ending, swarm, background)
        return ending

    def record(self, event: Event) -> None:
        """Write an event into the history and show it. Safe from any thread."""
        self._log.append(event)
        line = _line(event)
        if line:
            self._view.say(f"{event.t:6.1f} s  {line}", style="red" if isinstance(event, Abort) else "")

    # -- the load -------------------------------------------------------------------------------

    async def _until_something_ends_it(self, swarm: Swarm) -> Ending:
        plan = asyncio.create_task(self._follow_the_plan())
        asked = asyncio.create_task(self._stop.asked.wait())
        abort = asyncio.create_task(self._look_for_aborts())
        death = asyncio.create_task(swarm.ended())
        enders: set[asyncio.Task[Any]] = {plan, asked, abort, death}
        try:
            done, _ = await asyncio.wait(enders, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in enders:
                task.cancel()
            await asyncio.gather(*enders, return_exceptions=True)
        if asked in done:
            return "interrupted"
        if abort in done:
            abort.result()
            return "aborted"
        if plan in done:
            return self._end_of_plan(plan)
        self._note(f"the swarm ended by itself (exit {death.result()}): {swarm.last_words()}")
        return "aborted"

    def _end_of_plan(self, plan: "asyncio.Task[None]") -> Ending:
        try:
            plan.result()
        except (_HopelessError, CannotInjectError) as error:
            self._note(f"the run ends here: {error}")
            return "aborted"
        except ExceptionGroup as group:
            expected, rest = group.split(CannotInjectError)
            if rest is not None:
                raise rest from None
            self._note(f"the run ends here: {expected.exceptions[0] if expected else group}")
            return "aborted"
        return "done"

    async def _follow_the_plan(self) -> None:
        phases = self._drill.phases
        self._enter("warmup")
        await self._until(phases.warmup)
        self._enter("baseline")
        await self._until(phases.fault_begins)
        if length_of(self._drill, self._acts) <= phases.fault_begins:
            return  # load alone: the baseline is what was asked for, and is judged
        self._refuse_broken_baseline()
        self._enter("fault")
        async with asyncio.TaskGroup() as acts:
            for number, act in enumerate(self._acts, start=1):
                acts.create_task(self._perform(number, act))
            acts.create_task(self._until(end_of_fault_phase(self._drill, self._acts)))
        self._enter("recovery")
        await asyncio.sleep(phases.recovery)

    async def _perform(self, number: int, act: Act) -> None:
        await self._until(act.at_s)
        await self._performer.perform(number, act)

    async def _until(self, plan_s: float) -> None:
        """Sleep until the plan's clock, which starts when the swarm has joined, shows `plan_s`."""
        await asyncio.sleep(max(0.0, self._began + plan_s - self.clock.now()))

    def _enter(self, phase: PhaseName) -> None:
        self._phase = phase
        self.record(Phase(self.clock.now(), phase))

    def _refuse_broken_baseline(self) -> None:
        """Raises _HopelessError: a stack that does not work before any fault proves nothing about faults."""
        self._gauge.read()
        begin = self._began + self._drill.phases.warmup
        window = self._gauge.series.window("all", begin, self.clock.now() - _ROWS_LAG_S)
        if self._drill.phases.baseline < 2 * _ROWS_LAG_S:
            return
        if window.n == 0:
            raise _HopelessError("not one op came back in the baseline")
        if (window.error_rate or 0.0) >= BASELINE_ERRORS:
            why = ", ".join(f"{count}x {reason}" for reason, count in window.why.most_common(3))
            raise _HopelessError(
                f"the baseline was already broken ({(window.error_rate or 0) * 100:.0f} % errors: {why})"
            )

    async def _look_for_aborts(self) -> None:
        """Show the scene twice a second; return when an abort condition is met."""
        conditions = [(text, parse_condition(text)) for text in self._drill.abort_if]
        while True:
            rows = self._gauge.read()
            for text, condition in conditions:
                observed = condition.met(rows, self.clock.now())
                if observed is not None:
                    self.record(Abort(self.clock.now(), text, observed))
                    return
            self._view.show(self._scene())
            await asyncio.sleep(_LOOK_EVERY_S)

    def _scene(self) -> Scene:
        states = self._watch.states.items()
        scene = Scene(
            phase=self._phase or "starting",
            elapsed_s=self.clock.now() - self._began,
            total_s=length_of(self._drill, self._acts),
            primary=self._watch.primary,
            not_running=[f"{name} {state}" for name, state in states if state != State.RUNNING],
            faults=list(self._performer.in_force.values()),
        )
        return self._gauge.measure(scene, self.clock.now())

    # -- the end --------------------------------------------------------------------------------

    async def _wind_up(
        self, ending: Ending, swarm: Swarm | None, background: "list[asyncio.Task[None]]"
    ) -> None:
        """Heal, end the load, and close the history: in this order, and whatever came before."""
        why = "" if ending == "done" else f"the run was {ending}"
        if await self._performer.heal_everything(why):
            reaper.dismiss(self._reaper)
        else:
            self._note("something could not be healed; `feedstorm heal` can try again")
        self.record(End(self.clock.now(), ending))
        if swarm is not None:
            with self._view.step("draining the load"):
                await self._drain(swarm, hurried=ending == "interrupted")
        await self._performer.close()
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        self._log.close()

    async def _drain(self, swarm: Swarm, *, hurried: bool) -> None:
        code = await (swarm.drain(within_s=_HURRIED_DRAIN_S) if hurried else swarm.drain())
        if code not in (0, 1) and not hurried:
            self._note(f"the swarm ended with exit {code}: {swarm.last_words()}")

    def _note(self, text: str) -> None:
        self.record(Note(self.clock.now(), text))


def _line(event: Event) -> str:
    """What is shown of an event; empty for those that the picture shows anyway."""
    match event:
        case Phase(name=name):
            return f"phase {name}"
        case Fault(stage=stage, fault=fault, on=on, members=members, detail=detail):
            where = f"{on} ({', '.join(members)})" if members and members != [on] else on
            words = {"inject": "injected", "no_effect": "has no effect"}.get(stage, stage)
            return f"{fault} on {where}: {words}" + (f" ({detail})" if detail else "")
        case Topology(primary=primary):
            return f"{primary} is primary" if primary else "no primary"
        case MemberChange(member=member, state=state):
            return f"{member} is {state}"
        case Note(text=text):
            return text
        case Abort(condition=condition, observed=observed):
            return f"aborting: {condition} ({observed})"
        case End(why=why):
            return f"end of the load ({why})"
