"""What the live view shows: the last seconds of the run, read from its own history as it grows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from results.history import SERIES, STALENESS, SeriesRow, StalenessSample, Tail
from results.measures import Series
from results.staleness import staleness_of

_LAG_S = 2
"""Rows are this far behind at most, and ops of the last moments are still under way."""
_WINDOW_S = 5
_KEPT_S = 90
_STALENESS_S = 15
_SHOWN_S = 60
_FEED_PATHS = ("push", "celebrity")


@dataclass(frozen=True)
class Scene:
    """One moment. Rates are per second, shares 0..1, times in seconds; None is "nothing to measure".

    `primary` is None while there is none, and empty where nobody looks.
    """

    phase: str = "starting"
    elapsed_s: float = 0.0
    total_s: float = 0.0
    ops_per_s: float = 0.0
    error_share: float | None = None
    p95_s: float | None = None
    staleness_s: float | None = None
    primary: str | None = ""
    not_running: Sequence[str] = ()
    faults: Sequence[str] = ()
    errors: Sequence[tuple[str, int]] = ()
    rates: Sequence[int] = ()
    error_rates: Sequence[int] = ()


@dataclass
class Gauge:
    """Reads a run's growing series and staleness files."""

    directory: Path
    series: Series = field(default_factory=Series)
    _samples: list[StalenessSample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows = Tail[SeriesRow](self.directory / SERIES, SeriesRow)
        self._staleness = Tail[StalenessSample](self.directory / STALENESS, StalenessSample)

    def read(self) -> list[SeriesRow]:
        """Take in what was written since the last call, and hand on the new rows of the series."""
        rows = self._rows.read()
        self.series.add(rows)
        self._samples.extend(self._staleness.read())
        return rows

    def measure(self, scene: Scene, now_s: float) -> Scene:
        """The scene with what was measured over the last whole seconds before `now_s`."""
        self.series.forget(now_s - _KEPT_S)
        to_s = max(0, int(now_s) - _LAG_S)
        window = self.series.window("all", max(0, to_s - _WINDOW_S), to_s)
        bins = self.series.bins("all", max(0, to_s - _SHOWN_S), to_s)
        self._samples = [sample for sample in self._samples if sample.t > now_s - _KEPT_S]
        recent = staleness_of((s for s in self._samples if s.t > now_s - _STALENESS_S), _FEED_PATHS)
        return replace(
            scene,
            ops_per_s=window.n / _WINDOW_S,
            error_share=window.error_rate,
            p95_s=window.quantile(0.95, "all"),
            staleness_s=recent.quantile(0.95),
            errors=Counter(window.why).most_common(3),
            rates=[each.n for each in bins],
            error_rates=[each.errors for each in bins],
        )
