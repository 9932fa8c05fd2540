"""`report.md`: a run in a pull request's comment."""

from collections.abc import Iterable, Iterator

from results.history import RunInfo
from results.summary import mark, observed, recovery_line
from results.urls import shown
from results.verdict import Verdict
from results.words import listed, number, percent, seconds

ICONS = {"pass": "✅", "fail": "❌", "invalid": "⚠️"}


def markdown(verdict: Verdict, run: RunInfo) -> str:
    """The whole text, verdict and reasons first."""
    return "\n".join(_lines(verdict, run)) + "\n"


def _lines(verdict: Verdict, run: RunInfo) -> Iterator[str]:
    yield f"# {ICONS[verdict.verdict]} {verdict.drill}: {verdict.verdict}"
    yield ""
    if verdict.question:
        yield f"> {verdict.question}"
        yield ""
    yield from (f"- {why}" for why in verdict.why)
    yield from _section("Targets", ("target", "observed", "", "samples"), _targets(verdict))
    yield from _section(
        "Faults and recovery", ("what", ""), ((recovery_line(each), "") for each in verdict.recovery.faults)
    )
    yield from _section("Audit", ("invariant", "", "finding"), _findings(verdict))
    yield from _section("Drift", ("measure", "", "an hour", "why"), _drifts(verdict))
    yield from _section("Proofs", ("what must have been seen", "", "detail"), _proofs(verdict))
    yield from _section("The run", ("", ""), _run(verdict, run))


def _section(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    rows = list(rows)
    if not rows:
        return
    yield ""
    yield f"## {title}"
    yield ""
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(_cell(text) for text in row) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _targets(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for target in verdict.targets:
        yield target.target, observed(target), mark(target.ok), str(target.samples)


def _findings(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for finding in verdict.invariants:
        state = {True: "kept", False: "**broken**", None: "not checked"}[finding.ok]
        ids = f" ({listed(finding.ids, 3)})" if finding.ids else ""
        yield finding.invariant, state, finding.text + ids


def _drifts(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for drift in verdict.drifts:
        trend = f"**{drift.trend}**" if drift.trend == "rising" and drift.judged else drift.trend
        note = "" if drift.judged else " (holds the data that was written: not judged)"
        yield f"{drift.name} of {drift.member}", trend, _per_hour(drift.per_hour), drift.why + note


def _per_hour(slope: float | None) -> str:
    return "-" if slope is None else number(slope)


def _proofs(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for proof in verdict.proofs:
        yield proof.text, "seen" if proof.seen else "**not seen**", proof.detail


def _run(verdict: Verdict, run: RunInfo) -> Iterator[tuple[str, str]]:
    quality, audit = verdict.quality, verdict.audit
    yield "run", run.run
    yield (
        "writes",
        (
            f"{audit.acknowledged} acknowledged, {audit.lost} lost, {audit.duplicated} duplicated, "
            f"{audit.unknown} unclear"
        ),
    )
    yield (
        "load",
        (
            f"{quality.sent} of {quality.planned} planned ops sent, {quality.late} late, "
            f"{quality.abandoned} abandoned; generator CPU {percent(quality.cpu)}, "
            f"slip p99 {seconds(quality.slip_p99_s)}"
        ),
    )
    yield "stack", f"{run.stack}: " + ", ".join(f"{name} {version}" for name, version in run.versions.items())
    for limit in run.stack_limits:
        yield "limit", limit
    yield "seed", str(run.seed)
    yield "again", f"`{shown(run.command)}`"
