"""A comparison as it is printed: what changed, worst first, and how much did not."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from results.compare import Change, Comparison, Word
from results.words import listed, number, plural

STYLES: dict[Word, str] = {"worse": "bold red", "better": "bold green", "no clear difference": ""}


def render(comparison: Comparison, *, everything: bool = False) -> RenderableType:
    """For a `rich.print`. Measures without a clear difference are counted, or shown if `everything`."""
    shown = [change for change in comparison.changes if everything or change.word != "no clear difference"]
    parts: list[RenderableType] = [Text(f"{listed(comparison.a)}  against  {listed(comparison.b)}")]
    parts += [Text(f"Careful: {warning}", "yellow") for warning in comparison.warnings]
    if shown:
        parts.append(_table(shown))
    parts.append(Text(_sentence(comparison)))
    return Group(*parts)


def _sentence(comparison: Comparison) -> str:
    if not comparison.changes:
        return "There is nothing to compare: the runs have no measure in common."
    counts = {word: sum(change.word == word for change in comparison.changes) for word in STYLES}
    if counts["worse"] == counts["better"] == 0:
        return f"No clear difference in any of {plural(len(comparison.changes), 'measure')}."
    same = plural(counts["no clear difference"], "measure")
    return f"{counts['worse']} worse, {counts['better']} better, no clear difference in {same}."


def _table(changes: list[Change]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("measure", "before", "after", "change", "99 % interval", ""):
        table.add_column(column, justify="left" if column in ("measure", "") else "right")
    for change in changes:
        table.add_row(
            change.measure,
            f"{number(change.a)} {change.unit}".strip(),
            f"{number(change.b)} {change.unit}".strip(),
            changed(change, change.change),
            interval(change),
            Text(change.word, STYLES[change.word]),
        )
    return table


def changed(change: Change, value: float | None) -> str:
    """A ratio as `"x 1.3"`, a difference as `"+2.5 %"`; `"-"` where there is none."""
    if value is None:
        return "-"
    if change.is_difference:
        return f"{'+' if value >= 0 else '-'}{number(abs(value))} {change.unit}".strip()
    return f"x {number(value)}"


def interval(change: Change) -> str:
    if change.low is None or change.high is None:
        return "-"
    return f"{changed(change, change.low)} .. {changed(change, change.high)}"
