"""A soak as a drill: the same parts as any other, with a timeline that repeats until the time is up."""

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.drill import Drill, Load, Phases, Population, Step
from chaos.errors import UsageError
from chaos.faults import FAULTS
from chaos.units import Seconds, suggest

WARM_UP = Seconds(10)
BASELINE = Seconds(30)
RECOVERY = Seconds(20)
SHORTEST = Seconds(60)
INVARIANTS = ("no_acknowledged_write_lost", "counters_exact", "no_duplicate_in_feed")


@dataclass(frozen=True)
class Now:
    """`--every 10m kill redis`: a fault that comes back."""

    every: Seconds
    fault: str
    on: str


def drill_of(
    length: Seconds, faults: Sequence[Now], hold: Seconds, load: Load, population: Population
) -> Drill:
    """The soak's drill. Raises UsageError for what could not work."""
    if length < SHORTEST:
        raise UsageError(f"a soak of {length} shows nothing: it takes at least {SHORTEST}")
    phases = Phases(warmup=WARM_UP, baseline=BASELINE, fault=_middle(length), recovery=RECOVERY)
    return Drill(
        drill="soak",
        question=f"Does anything creep in {length} of steady load?",
        load=load,
        population=population,
        timeline=[_step(each, hold, phases, length) for each in faults],
        phases=phases,
        targets=["feed.error_rate < 1% in baseline", "feed.error_rate < 5% in fault"],
        invariants=list(INVARIANTS),
    )


def _middle(length: Seconds) -> Seconds:
    """What is left for the long steady part between the baseline and the recovery."""
    return Seconds(max(10.0, length - WARM_UP - BASELINE - RECOVERY))


def _step(now: Now, hold: Seconds, phases: Phases, length: Seconds) -> Step:
    if now.fault not in FAULTS:
        raise UsageError(f"no fault '{now.fault}'{suggest(now.fault, FAULTS)}")
    if now.every <= hold:
        raise UsageError(
            f"{now.fault} {now.on} every {now.every} cannot be held {hold} each time: "
            f"choose a longer --every or a shorter --hold"
        )
    first = Seconds(phases.fault_begins + min(now.every, phases.fault / 2))
    until = Seconds(phases.fault_begins + phases.fault - hold)
    if first >= until:
        raise UsageError(f"{now.fault} {now.on} every {now.every} never comes within {length}")
    return Step(at=first, inject=now.fault, on=now.on, hold=hold, every=now.every, until=until)
