"""The page of a trial: the table first, then a chart for each claim. One file, no network."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from chaos.claims.evidence import Chart, Finding, Measured
from chaos.claims.record import Trial

_COLOURS: Final = ("#2f6fde", "#d9742b", "#2b9d6f", "#8a5bd6")
_GREY: Final = "#8a8f98"
_CLASSES: Final = {"holds": "good", "does not hold here": "bad", "cannot be shown here": "open"}
_STYLE: Final = Path(__file__).with_name("page.css")


def page(trial: Trial) -> str:
    """The whole document."""
    return "\n".join(_parts(trial))


def _parts(trial: Trial) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Claims: {escape(trial.run)}</title><style>{_STYLE.read_text()}</style>"
    yield f"<script>{get_plotlyjs()}</script></head><body>"
    versions = ", ".join(f"{name} {version}" for name, version in trial.versions.items())
    yield "<h1>The claims of the reference model</h1>"
    yield f"<p>{escape(trial.run)}, on the {escape(trial.stack)} stack: {escape(versions)}</p>"
    yield "<table><tr><th>claim</th><th>here</th><th>what it says</th></tr>"
    for finding in trial.findings:
        yield f'<tr><td><a href="#{finding.claim}">{finding.claim}</a></td>'
        yield f"<td>{_opinion(finding)}</td><td>{escape(finding.says)}</td></tr>"
    yield "</table>"
    for finding in trial.findings:
        yield from _section(finding)
    if trial.stack_limits:
        yield "<section><h2>What this stack cannot show</h2><ul>"
        yield from (f"<li>{escape(limit)}</li>" for limit in trial.stack_limits)
        yield "</ul></section>"
    yield "</body></html>"


def _opinion(finding: Finding) -> str:
    return f'<span class="opinion {_CLASSES[finding.opinion]}">{finding.opinion}</span>'


def _section(finding: Finding) -> Iterator[str]:
    yield f'<section id="{finding.claim}"><h2>{escape(finding.says)}</h2><p>{_opinion(finding)}</p><ul>'
    yield from (f"<li>{escape(reason)}</li>" for reason in finding.reasons)
    yield '</ul><div class="charts">'
    for measured in finding.measured:
        yield _drawn(bars(measured))
    for chart in finding.charts:
        yield _drawn(curves(chart))
    yield "</div></section>"


def bars(measured: Measured) -> Any:
    """Both medians with their 95 % intervals, and every single sample as a dot."""
    pairs = ((measured.cheap, measured.cheap_interval), (measured.dear, measured.dear_interval))
    figure = go.Figure()
    for colour, (samples, interval) in zip(_COLOURS, pairs, strict=False):
        error = {
            "type": "data",
            "symmetric": False,
            "array": [interval.high - interval.median],
            "arrayminus": [interval.median - interval.low],
            "color": _GREY,
        }
        figure.add_bar(x=[samples.label], y=[interval.median], error_y=error, marker_color=colour)
        dots = {"color": _GREY, "size": 5, "opacity": 0.6}
        labels = [samples.label] * len(samples.values)
        figure.add_scatter(x=labels, y=samples.values, mode="markers", marker=dots, hoverinfo="y")
    figure.update_layout(showlegend=False, yaxis_rangemode="tozero")
    _unit(figure, measured.dear.unit)
    return _titled(figure, measured.what)


def curves(chart: Chart) -> Any:
    figure = go.Figure()
    for colour, line in zip(_COLOURS, chart.lines, strict=False):
        mode = "lines+markers" if len(line.x) < 20 else "lines"
        figure.add_scatter(x=line.x, y=line.y, name=line.label, mode=mode, line={"color": colour})
    figure.update_layout(xaxis_title=chart.x, legend={"orientation": "h", "y": -0.3})
    _unit(figure, chart.y)
    return _titled(figure, chart.title)


def _unit(figure: Any, said: str) -> None:
    """Few seconds are ms or µs on the axis, and `seconds (median)` leaves `median` as its title."""
    unit, _, rest = said.partition(" ")
    if unit in ("s", "seconds"):
        figure.update_yaxes(tickformat="~s", ticksuffix="s", title_text=rest.strip("()"))
    else:
        figure.update_yaxes(title_text=said)


def _titled(figure: Any, title: str) -> Any:
    figure.update_layout(
        title={"text": title, "font": {"size": 14}},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _GREY},
        margin={"l": 60, "r": 20, "t": 50, "b": 50},
        height=340,
    )
    faint = "rgba(128,128,128,0.25)"
    figure.update_xaxes(gridcolor=faint, zerolinecolor=faint)
    figure.update_yaxes(gridcolor=faint, zerolinecolor=_GREY)
    return figure


def _drawn(figure: Any) -> str:
    html: str = figure.to_html(
        full_html=False, include_plotlyjs=False, config={"displayModeBar": False, "responsive": True}
    )
    return html
