"""Staleness: from a write being acknowledged to a reader first seeing it, over many probes.

What never arrived counts at its deadline, so it makes a quantile worse instead of vanishing from it.
Samples that could not be decided are counted apart, and so are negative ones: they mean that two
clocks were compared, and are never averaged away.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from results.history import StalenessPath, StalenessSample

PATHS_OF: Final[dict[str, tuple[StalenessPath, ...]]] = {
    "feed": ("push", "celebrity"),
    "push": ("push",),
    "celebrity": ("celebrity",),
    "likes": ("like_count",),
    "like_count": ("like_count",),
    "follows": ("follow_count",),
    "follow_count": ("follow_count",),
}
"""What can be named in a staleness target -> the probes' paths that it covers."""


@dataclass
class Staleness:
    """The decided samples of some paths in some stretch of the run."""

    seconds: list[float] = field(default_factory=list)
    breaches: int = 0
    undecided: int = 0
    negative: int = 0

    @property
    def n(self) -> int:
        """Samples that were decided, breaches among them."""
        return len(self.seconds)

    def quantile(self, q: float) -> float | None:
        """Nearest rank, in seconds; None without samples. With fewer than 100 samples, p99 is the maximum."""
        if not self.seconds:
            return None
        ordered = sorted(self.seconds)
        return ordered[max(1, ceil(q * len(ordered) - 1e-9)) - 1]


def staleness_of(samples: Iterable[StalenessSample], paths: Iterable[str]) -> Staleness:
    """Sum up the samples of `paths`."""
    wanted, total = set(paths), Staleness()
    for sample in samples:
        if sample.path not in wanted:
            continue
        if sample.outcome == "unknown":
            total.undecided += 1
        elif sample.outcome == "breach":
            total.breaches += 1
            total.seconds.append(max(sample.deadline_s, sample.staleness_s or 0.0))
        elif sample.staleness_s is None or sample.staleness_s < 0:
            total.negative += 1
        else:
            total.seconds.append(sample.staleness_s)
    return total
