"""What the command line prints at the end of a run: the verdict first, then what it rests on."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from results.judgements import Outcome
from results.recovery import Recovery
from results.targets import TargetResult
from results.verdict import Verdict
from results.words import listed, number, plural, seconds

STYLES = {Outcome.PASS: "bold green", Outcome.FAIL: "bold red", Outcome.INVALID: "bold yellow"}


def render(verdict: Verdict, report: Path | None = None) -> RenderableType:
    """A summary for `rich.print`; it reads well without colour too."""
    parts: list[RenderableType] = [_headline(verdict)]
    parts.extend(Text(f"  - {why}") for why in verdict.why)
    if verdict.targets:
        parts.append(_targets(verdict.targets))
    parts.extend(Text(line) for line in _lines(verdict))
    if report is not None:
        parts.append(Text(f"Report: {report}"))
    return Group(*parts)


def _headline(verdict: Verdict) -> Text:
    text = Text(verdict.verdict.upper(), STYLES[verdict.outcome])
    text.append(f"  {verdict.drill} on the {verdict.stack} stack", "default")
    return text


def _targets(results: Iterable[TargetResult]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("target", "observed", "", "samples"):
        table.add_column(column, justify="left" if column in ("target", "") else "right")
    for result in results:
        table.add_row(result.target, observed(result), mark(result.ok), str(result.samples))
    return table


def observed(result: TargetResult) -> str:
    """What was measured, with its unit: `"3.2 %"`."""
    return "-" if result.observed is None else f"{number(result.observed)} {result.unit}"


def mark(ok: bool | None) -> str:
    """`"met"`, `"missed"` or `"no data"`."""
    return {True: "met", False: "missed", None: "no data"}[ok]


def _lines(verdict: Verdict) -> Iterable[str]:
    audit = verdict.audit
    if verdict.invariants or audit.acknowledged:
        yield (
            f"Writes: {audit.acknowledged} acknowledged, acked lost: {audit.lost}, "
            f"duplicated: {audit.duplicated}, unclear: {audit.unknown}"
        )
    for finding in verdict.invariants:
        if finding.ok is not True:
            yield f"  {finding.invariant}: {finding.text} ({listed(finding.ids, 3)})"
    for recovery in verdict.recovery.faults:
        yield recovery_line(recovery)
    for drift in verdict.drifts:
        if drift.judged and drift.trend in ("rising", "falling"):
            yield f"{drift.name} of {drift.member} is {drift.trend}: {drift.why}"
    quality = verdict.quality
    yield (
        f"Load: {quality.sent} of {plural(quality.planned, 'planned op')} sent, {quality.late} late, "
        f"abandoned: {quality.abandoned}, sent {seconds(quality.slip_p99_s)} late at p99"
    )


def recovery_line(recovery: Recovery) -> str:
    """`"kill mongo:primary, writes: out for 9.8 s, back 1.2 s after the heal"`"""
    if not recovery.kept:
        return (
            f"{recovery.fault} {recovery.on}, {recovery.group}: not seen to come back for good in the "
            f"{seconds(recovery.watched_s)} after the heal"
        )
    if recovery.outage_s == 0 and recovery.recovery_s == 0:
        return f"{recovery.fault} {recovery.on}, {recovery.group}: no outage"
    return (
        f"{recovery.fault} {recovery.on}, {recovery.group}: out for {seconds(recovery.outage_s)}, "
        f"back {seconds(recovery.recovery_s)} after the heal"
    )
