"""What one run came to, and the table of several. Pure, apart from reading a run's own files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec
from rich.table import Table
from rich.text import Text

from chaos.lineup.costs import Costs
from chaos.lineup.costs import read as read_costs
from results import verdict
from results.facts import Facts
from results.history import History, PhaseName
from results.words import number, percent, seconds

PHASES_SHOWN: tuple[PhaseName, ...] = ("baseline", "fault", "recovery")


class Row(msgspec.Struct):
    """One run. Error rates are shares (0..1), times in seconds; None is "not measured"."""

    variant: str
    run: str
    verdict: str
    error_rate: dict[str, float | None] = {}
    staleness_p99_s: dict[str, float | None] = {}
    staleness_p50_s: float | None = None
    feed_p95_s: float | None = None
    costs: Costs | None = None


class LineUp(msgspec.Struct):
    """What `lineup.json` holds."""

    drill: str
    seed: int
    stack: str
    rows: list[Row] = []

    @property
    def exit_code(self) -> int:
        """1 if any run failed, else 3 if any proved nothing (or there is none), else 0."""
        verdicts = [row.verdict for row in self.rows]
        if "fail" in verdicts:
            return 1
        return 0 if verdicts and all(each == "pass" for each in verdicts) else 3


def row_of(variant: str, directory: Path) -> Row:
    """Read a run that was judged. Raises FileNotFoundError if it was not."""
    history, judged = History.load(directory), verdict.read(directory)
    facts = Facts.of(history)
    windows = {phase: facts.window("all", phase) for phase in PHASES_SHOWN}
    feed = facts.window("feed", "baseline")
    return Row(
        variant=variant,
        run=directory.name,
        verdict=judged.verdict,
        error_rate={phase: window.error_rate if window else None for phase, window in windows.items()},
        staleness_p99_s={phase: facts.staleness_in("feed", phase).quantile(0.99) for phase in PHASES_SHOWN},
        staleness_p50_s=facts.staleness_in("feed", "baseline").quantile(0.5),
        feed_p95_s=feed.quantile(0.95) if feed else None,
        costs=read_costs(directory),
    )


# -- the table -----------------------------------------------------------------------------------

_MEASURES: tuple[tuple[str, Callable[[Row], float | None], Callable[[float | None], str]], ...] = (
    ("errors in baseline", lambda row: row.error_rate.get("baseline"), percent),
    ("errors in fault", lambda row: row.error_rate.get("fault"), percent),
    ("feed staleness p50 in baseline", lambda row: row.staleness_p50_s, seconds),
    ("feed staleness p99 in baseline", lambda row: row.staleness_p99_s.get("baseline"), seconds),
    ("feed staleness p99 in fault", lambda row: row.staleness_p99_s.get("fault"), seconds),
    ("feed latency p95 in baseline", lambda row: row.feed_p95_s, seconds),
    ("store ops per feed read", lambda row: row.costs.per_read if row.costs else None, lambda v: _plain(v)),
    ("store ops per post", lambda row: row.costs.per_post if row.costs else None, lambda v: _plain(v)),
    (
        "store ops per post of a celebrity",
        lambda row: row.costs.per_celebrity_post if row.costs else None,
        lambda v: _plain(v),
    ),
)


def cells(lineup: LineUp) -> Iterator[list[str]]:
    """The table as text: the variants, then a line for each measure (medians of a variant's runs)."""
    variants = dict.fromkeys(row.variant for row in lineup.rows)
    runs = [[row for row in lineup.rows if row.variant == variant] for variant in variants]
    yield ["", *variants]
    yield ["verdict", *map(_verdicts, runs)]
    for name, value, told in _MEASURES:
        known = [[found for found in map(value, rows) if found is not None] for rows in runs]
        yield [name, *(told(median(values) if values else None) for values in known)]


def _verdicts(rows: Sequence[Row]) -> str:
    """`pass`, or `2 pass, 1 invalid`."""
    counts = {row.verdict: 0 for row in rows}
    for row in rows:
        counts[row.verdict] += 1
    if len(rows) == 1:
        return rows[0].verdict
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def table(lineup: LineUp) -> Table:
    heads, *lines = cells(lineup)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index, head in enumerate(heads):
        drawn.add_column(head, justify="right" if index else "left")
    for line in lines:
        drawn.add_row(*(Text(cell) for cell in line))
    return drawn


def markdown(lineup: LineUp) -> str:
    heads, *lines = cells(lineup)
    parts = [
        f"# {lineup.drill}, side by side",
        "",
        f"On the {lineup.stack} stack, seed {lineup.seed}; medians where a variant was run more than once.",
        "Operations are those that reach Redis and Mongo, counted at the stores in a quiet moment.",
        "",
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(line) + " |" for line in lines),
        "",
        "## Runs",
        "",
        *(f"- {row.variant}: [{row.run}](../{row.run}/report.html), {row.verdict}" for row in lineup.rows),
    ]
    return "\n".join(parts) + "\n"


def _plain(value: float | None) -> str:
    return "-" if value is None else number(value)
