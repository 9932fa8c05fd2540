"""`report.html`: one file that needs nothing else, with Plotly inside and a policy that forbids requests."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import jinja2
import msgspec
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from results.facts import KEPT_S, Facts
from results.history import PHASES, History, PhaseName
from results.report.charts import Charts, charts_of
from results.report.events import event_lines
from results.summary import mark, observed
from results.targets import Target, TargetResult, observe, parse_target
from results.urls import shown
from results.verdict import Verdict
from results.words import date, number, percent, plural, seconds

OPEN_LATENCY: Final = "from the intended start"
CLOSED_LATENCY: Final = "from the actual send (closed loop)"


class Tile(NamedTuple):
    """One key number."""

    label: str
    value: str
    note: str
    tone: str = ""


class Cell(NamedTuple):
    text: str
    judged: bool


class Row(NamedTuple):
    """A target with what its measure was in every phase."""

    result: TargetResult
    observed: str
    mark: str
    tone: str
    cells: list[Cell]


def html(verdict: Verdict, history: History) -> str:
    """The whole page."""
    facts = Facts.of(history)
    charts = charts_of(history, facts)
    phases = [phase for phase in PHASES if phase in facts.phases]
    return _template().render(
        verdict=verdict,
        run=history.run,
        tiles=list(_tiles(verdict, facts)),
        phases=phases,
        targets=[_row(result, facts, phases) for result in verdict.targets],
        events=event_lines(facts.events),
        kept_s=KEPT_S,
        latency_note=CLOSED_LATENCY if verdict.quality.closed else OPEN_LATENCY,
        groups=[lines.group for lines in charts.groups],
        has_staleness=bool(charts.staleness),
        has_lanes=bool(charts.lanes),
        has_generator=bool(charts.generator.t),
        gauges=charts.gauges,
        data=_json(charts),
        style=_part("style.css"),
        script=_part("charts.js"),
        plotly=Markup(get_plotlyjs()),
    )


def tone(ok: bool | None) -> str:
    """The style class of an outcome."""
    return {True: "good", False: "bad", None: "warn"}[ok]


def clock(t: float | None) -> str:
    return "-" if t is None else f"{t:.1f} s"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.globals.update(tone=tone, clock=clock, date=date, length=seconds, share=percent, count=plural)
    environment.filters["shown"] = shown
    return environment.from_string(_part("page.html"))


def _part(name: str) -> Markup:
    return Markup((files("results.report") / name).read_text())


def _json(charts: Charts) -> Markup:
    """JSON that is safe inside a script element."""
    return Markup(msgspec.json.encode(charts).decode().replace("<", "\\u003c"))


def _tiles(verdict: Verdict, facts: Facts) -> Iterator[Tile]:
    for group in ("feed", "all"):
        window = facts.window(group, "fault")
        if window is not None and window.n:
            yield Tile(f"{group}: errors in fault", percent(window.error_rate), plural(window.n, "op"))
    outages = [each for each in verdict.recovery.faults if each.group in ("feed", "writes")]
    if outages:
        longest = max(outages, key=lambda each: each.outage_s)
        note = f"{longest.group}, {longest.fault} {longest.on}"
        yield Tile("longest outage", seconds(longest.outage_s), note)
    staleness = facts.staleness_in("feed", "recovery")
    if staleness.n:
        note = f"{staleness.n} samples, {staleness.breaches} never seen"
        yield Tile("feed staleness p99, recovery", seconds(staleness.quantile(0.99)), note)
    if verdict.invariants:
        audit = verdict.audit
        note = f"of {audit.acknowledged} acknowledged"
        yield Tile("acked lost", str(audit.lost), note, "bad" if audit.lost else "good")
        yield Tile(
            "duplicated",
            str(audit.duplicated),
            f"unclear: {audit.unknown}",
            "bad" if audit.duplicated else "good",
        )


def _row(result: TargetResult, facts: Facts, phases: list[PhaseName]) -> Row:
    target = parse_target(result.target)
    cells = [Cell(_in_phase(target, facts, phase), phase == target.phase) for phase in phases]
    return Row(result, observed(result), mark(result.ok), tone(result.ok), cells)


def _in_phase(target: Target, facts: Facts, phase: PhaseName) -> str:
    """What the target's measure was in a phase; empty for those that belong to a fault, not to a phase."""
    if target.phase is None:
        return ""
    value = target.limit.in_unit(observe(facts, target.measure, phase, target.limit).value)
    return "" if value is None else f"{number(value)} {target.limit.unit}"
