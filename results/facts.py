"""A run's history, arranged for those who judge it: series by second, samples by phase, faults."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor

from results.faults import FaultLife, faults_of
from results.history import End, Event, History, Phase, PhaseName, StalenessSample, phases_of
from results.measures import Series, Window
from results.staleness import PATHS_OF, Staleness, staleness_of

KEPT_S = 5
"""How long a measure has to stay good before it counts as recovered; also the rolling window's length."""


@dataclass
class Facts:
    """Everything that targets and proofs are evaluated on."""

    series: Series
    staleness: Sequence[StalenessSample] = ()
    events: Sequence[Event] = ()
    phases: dict[PhaseName, tuple[float, float]] = field(default_factory=dict)
    faults: list[FaultLife] = field(default_factory=list)

    @classmethod
    def of(cls, history: History) -> "Facts":
        return cls.from_parts(Series(history.series), history.staleness, history.events)

    @classmethod
    def from_parts(
        cls, series: Series, staleness: Sequence[StalenessSample], events: Sequence[Event]
    ) -> "Facts":
        return cls(series, staleness, events, phases_of(events), faults_of(events))

    @property
    def end_s(self) -> float:
        """When the load stopped: the `End` event, or the last that is known."""
        ends = [event.t for event in self.events if isinstance(event, End)]
        return ends[-1] if ends else max([self.series.end_s, *(event.t for event in self.events)])

    def seconds_of(self, phase: PhaseName) -> tuple[int, int] | None:
        """The seconds [from, to) that are judged as `phase`; None if the run never got there.

        Baseline and recovery hold only seconds that are wholly theirs. One that a fault phase begins
        or ends in belongs to the fault: half a second of outage must not look like a bad baseline.
        """
        if phase not in self.phases:
            return None
        begin, end = self.phases[phase]
        is_last = not any(event.t >= end for event in self.events if isinstance(event, Phase))
        first = floor(begin) if phase in ("warmup", "fault") else ceil(begin)
        last = ceil(end) if phase == "fault" or is_last else floor(end)
        return first, max(first, last)

    def window(self, group: str, phase: PhaseName) -> Window | None:
        """The ops of a group in a phase; None if the run never got there."""
        seconds = self.seconds_of(phase)
        return self.series.window(group, *seconds) if seconds else None

    def staleness_in(self, name: str, phase: PhaseName) -> Staleness:
        """The samples of `feed`, `push`, `likes` ... whose write was acknowledged in `phase`."""
        begin, end = self.phases.get(phase, (0.0, 0.0))
        return staleness_of(self.between(begin, end), PATHS_OF[name])

    def between(self, begin: float, end: float) -> Iterable[StalenessSample]:
        return (sample for sample in self.staleness if begin <= sample.t < end)
