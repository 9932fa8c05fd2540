"""How good the run itself was: whether the load was sent as planned, by a generator that kept up."""

from collections import defaultdict
from collections.abc import Iterable
from math import inf
from typing import Final

import msgspec

from results import latency
from results.facts import KEPT_S
from results.history import GeneratorSecond, SeriesRow, WorkerChange
from results.words import number, percent, seconds

MAX_CPU: Final = 0.9
"""Of one core, over `KEPT_S` seconds: a generator beyond this delays its own requests."""
MAX_SLIP_P99_S: Final = 0.100
MIN_SENT: Final = 0.95


class Absence(msgspec.Struct):
    """A worker of the swarm that was lost; `until_s` is None if it never came back."""

    worker: str
    from_s: float
    until_s: float | None = None

    def __str__(self) -> str:
        until = "the end" if self.until_s is None else f"{number(self.until_s)} s"
        return f"{self.worker} from {number(self.from_s)} s to {until}"


class Quality(msgspec.Struct):
    """Sums over all workers and seconds. `slip_p99_s` is how late ops were sent; `cpu` is the busiest
    worker's greatest load over a few seconds (1.0 = one core). `closed` names a closed-loop load."""

    planned: int = 0
    sent: int = 0
    late: int = 0
    abandoned: int = 0
    slip_p99_s: float | None = None
    cpu: float | None = None
    closed: bool = False
    workers: int = 0
    lost: list[Absence] = []

    def reasons(self) -> list[str]:
        """Why this load proves nothing, in sentences; empty if it is good."""
        reasons = [f"load worker lost: {absence}" for absence in self.lost]
        if self.cpu is not None and self.cpu > MAX_CPU:
            limit = percent(MAX_CPU)
            reasons.append(f"the load generator was saturated: {percent(self.cpu)} of a core, over {limit}")
        if self.slip_p99_s is not None and self.slip_p99_s > MAX_SLIP_P99_S:
            late = f"{seconds(self.slip_p99_s)} late at p99, over {seconds(MAX_SLIP_P99_S)}"
            reasons.append(f"the load generator was saturated: ops were sent {late}")
        if self.planned and not self.closed and self.sent < MIN_SENT * self.planned:
            share = f"{self.sent} of {self.planned} planned ops were sent"
            reasons.append(f"the load generator fell short: {share}, under {percent(MIN_SENT)}")
        return reasons


def quality_of(rows: Iterable[SeriesRow], end_s: float = inf) -> Quality:
    """Sum up what the generator said about itself.

    A worker that goes quiet after the load's end at `end_s`, and is heard again, was only draining.
    """
    quality = Quality()
    cpu: dict[str, list[tuple[int, float]]] = defaultdict(list)
    slips: latency.Buckets = {}
    workers: set[str] = set()
    for row in rows:
        if isinstance(row, WorkerChange):
            workers.add(row.worker)
            _note_absence(quality.lost, row)
        elif isinstance(row, GeneratorSecond):
            workers.add(row.worker)
            quality.planned += row.planned
            quality.sent += row.sent
            quality.late += row.late
            quality.abandoned += row.abandoned
            quality.closed = quality.closed or row.arrival == "closed"
            slips = latency.merge((slips, row.slip))
            cpu[row.worker].append((row.t, row.cpu))
    quality.lost = [each for each in quality.lost if each.from_s < end_s or each.until_s is None]
    quality.workers = len(workers)
    quality.slip_p99_s = latency.quantile(slips, 0.99)
    quality.cpu = max((_sustained(samples) for samples in cpu.values()), default=None)
    return quality


def _note_absence(lost: list[Absence], row: WorkerChange) -> None:
    mine = [absence for absence in lost if absence.worker == row.worker and absence.until_s is None]
    if row.state == "lost" and not mine:
        lost.append(Absence(row.worker, row.t))
    elif row.state in ("returned", "joined", "done") and mine:
        mine[-1].until_s = row.t


def _sustained(samples: list[tuple[int, float]]) -> float:
    """The greatest mean over `KEPT_S` samples in a row: a single busy second is no saturation."""
    loads = [load for _, load in sorted(samples)]
    width = min(KEPT_S, len(loads))
    return max(sum(loads[i : i + width]) / width for i in range(len(loads) - width + 1))
