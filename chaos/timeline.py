"""From a drill's timeline to a list of acts: pure, and the same for the same seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from chaos.drill import Choice, Drill, Step
from chaos.units import Seconds

_MOST_ACTS = 10_000


@dataclass(frozen=True)
class Act:
    """Put one fault on one role. Times are seconds after the beginning of the load."""

    at_s: float
    for_s: float
    fault: str
    on: str
    options: dict[str, Any]

    @property
    def ends_s(self) -> float:
        return self.at_s + self.for_s


def acts_of(drill: Drill, seed: int) -> list[Act]:
    """Every act of the drill, in order of time; steps at the same time in the order of the file."""
    rng = random.Random(f"{seed}/timeline")
    acts = [act for step in drill.timeline for act in _acts_of_step(step, rng)]
    return sorted(acts, key=lambda act: act.at_s)


def _acts_of_step(step: Step, rng: random.Random) -> Iterator[Act]:
    for at_s in _times(step):
        what: Step | Choice = rng.choice(step.pick) if step.pick else step
        yield Act(at_s, float(what.hold), what.inject, what.on, dict(what.options))


def _times(step: Step) -> Iterator[float]:
    if step.every is None:
        yield float(step.at)
        return
    times = step.times if step.times is not None else _MOST_ACTS
    for number in range(min(times, _MOST_ACTS)):
        at_s = step.at + number * step.every
        if step.until is not None and at_s >= step.until:
            return
        yield float(at_s)


def lasting(drill: Drill, for_s: float) -> Drill:
    """The drill with its repeated steps going on for `for_s` seconds. Raises ValueError if it has none."""
    if not any(step.every is not None for step in drill.timeline):
        raise ValueError(f"{drill.drill} repeats nothing, so it cannot be made longer or shorter")
    timeline = [
        msgspec.structs.replace(step, until=Seconds(step.at + for_s), times=None) if step.every else step
        for step in drill.timeline
    ]
    return msgspec.structs.replace(drill, timeline=timeline)


def end_of_fault_phase(drill: Drill, acts: list[Act]) -> float:
    """When the fault phase should end: after the last heal, and not before its own length is over."""
    begins = float(drill.phases.fault_begins)
    return max([begins + drill.phases.fault, *(act.ends_s for act in acts)])


def length_of(drill: Drill, acts: list[Act]) -> float:
    """Seconds of load that the drill plans."""
    return end_of_fault_phase(drill, acts) + drill.phases.recovery
