"""One staleness probe: write, then look until a reader sees it. Pure but for the ports it is given.

Staleness runs from the acknowledgement of the write to the end of the first look that shows it, on
one monotonic clock, in one process: the clocks of the system under test do not matter. It is at most
one pause too long.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from results.history import StalenessPath, StalenessSample

FIRST_PAUSE_S: Final = 0.05
PAUSE_GROWTH: Final = 1.15
LONGEST_PAUSE_S: Final = 0.2


@dataclass(frozen=True)
class Acknowledged:
    """A write that was acknowledged at `at` seconds of the run: on what, and who will look for it.

    `look` asks once: True if it is seen, False if not, None if no answer came. `unseen` is called if
    that is how it ends.
    """

    at: float
    subject: str
    reader: str
    look: Callable[[], bool | None]
    unseen: Callable[[], None] = lambda: None


class Time(Protocol):
    def now(self) -> float:
        """Seconds of the run."""

    def sleep(self, seconds: float) -> None: ...

    def is_over(self) -> bool:
        """The run ends: nothing more is to be asked."""


def follow_up(
    path: StalenessPath, write: Acknowledged, time: Time, *, deadline_s: float, worker: str = ""
) -> StalenessSample:
    """Look until the write is seen, its deadline has passed, or the run is over."""
    pause_s, looked = FIRST_PAUSE_S, False
    while not time.is_over():
        seen = write.look()
        since = time.now() - write.at
        looked = looked or seen is not None
        if seen and since <= deadline_s:
            return _sample(path, write, "seen", since, deadline_s, worker)
        if since >= deadline_s and looked:
            return _sample(path, write, "breach", deadline_s, deadline_s, worker)
        if since >= deadline_s:
            break  # no reader could look
        time.sleep(min(pause_s, deadline_s - since))
        pause_s = min(LONGEST_PAUSE_S, pause_s * PAUSE_GROWTH)
    return undecided(path, write, deadline_s=deadline_s, worker=worker)


def undecided(
    path: StalenessPath, write: Acknowledged, *, deadline_s: float, worker: str = ""
) -> StalenessSample:
    """The run ended, or no reader could look, before it could be told."""
    return _sample(path, write, "unknown", None, deadline_s, worker)


def _sample(
    path: StalenessPath,
    write: Acknowledged,
    outcome: Literal["seen", "breach", "unknown"],
    staleness_s: float | None,
    deadline_s: float,
    worker: str,
) -> StalenessSample:
    return StalenessSample(
        t=round(write.at, 6),
        path=path,
        outcome=outcome,
        staleness_s=None if staleness_s is None else round(staleness_s, 6),
        deadline_s=deadline_s,
        subject=write.subject,
        reader=write.reader,
        worker=worker,
    )
