"""The roll of workers: who reports, who has fallen silent, who is done. Pure: time is handed in.

Every worker reports about once a second. One that is silent for LOST_AFTER_S is lost: dead, frozen,
starved or cut off. If it speaks again it has returned; its rows add up, so nothing is counted twice.
"""

from dataclasses import dataclass
from typing import Final

from results.history import WorkerChange

LOST_AFTER_S: Final = 3.5


@dataclass
class _Entry:
    heard_at: float
    sent: int = 0
    abandoned: int = 0
    lost: bool = False
    done: bool = False


class Roll:
    """Each method takes the time in seconds of the run and returns what is to be written down."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self.intervals: list[str] = []

    def heard(self, worker: str, now: float, sent: int, abandoned: int) -> list[WorkerChange]:
        """A report has come; the totals are since the worker's start."""
        entry = self._entries.get(worker)
        if entry is None:
            self._entries[worker] = _Entry(now, sent, abandoned)
            return [WorkerChange(now, worker, "joined", sent, abandoned)]
        silent_from, entry.heard_at = entry.heard_at, now
        entry.sent, entry.abandoned = sent, abandoned
        if not entry.lost:
            return []
        entry.lost = False
        interval = f"no report from {silent_from:.1f} s to {now:.1f} s"
        self.intervals.append(f"{worker}: {interval}")
        return [WorkerChange(now, worker, "returned", sent, abandoned, interval)]

    def silent(self, now: float) -> list[WorkerChange]:
        """Who has been silent for too long since the last look."""
        changes = []
        for worker, entry in self._entries.items():
            if not entry.lost and not entry.done and now - entry.heard_at > LOST_AFTER_S:
                entry.lost = True
                detail = f"no report since {entry.heard_at:.1f} s"
                changes.append(WorkerChange(now, worker, "lost", entry.sent, entry.abandoned, detail))
        return changes

    def done(self, worker: str, now: float, sent: int, abandoned: int, detail: str) -> list[WorkerChange]:
        """A worker has drained and reported its last rows."""
        changes = self.heard(worker, now, sent, abandoned)
        self._entries[worker].done = True
        return [*changes, WorkerChange(now, worker, "done", sent, abandoned, detail)]

    @property
    def expected(self) -> list[str]:
        """Who is still to be waited for."""
        return [name for name, entry in self._entries.items() if not entry.done and not entry.lost]

    @property
    def lost(self) -> list[str]:
        """Who is lost and has not come back, with when it was heard last."""
        return [
            f"{name}: no report since {entry.heard_at:.1f} s"
            for name, entry in self._entries.items()
            if entry.lost
        ]

    @property
    def sent(self) -> int:
        return sum(entry.sent for entry in self._entries.values())

    @property
    def abandoned(self) -> int:
        return sum(entry.abandoned for entry in self._entries.values())
