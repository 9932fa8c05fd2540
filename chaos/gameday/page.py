"""The report of the day, for people: `report.md` and `report.html`. One file each, no network."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import jinja2

from chaos.gameday.day import Day, Remark, Stop
from results.history import write_atomically
from results.report.write import HTML, MARKDOWN
from results.words import date

TONES: Final = {"pass": "good", "fail": "bad"}
TITLES: Final = {
    "expected": "Expected",
    "observed": "Observed",
    "answer": "Asked",
    "note": "Notes",
    "abort": "Aborted",
    "follow-up": "Follow-ups",
}


def write(day: Day, directory: Path) -> Path:
    """Both, atomically; the path of the page."""
    write_atomically(directory / MARKDOWN, markdown(day))
    write_atomically(
        directory / HTML, _template().render(day=day, titles=TITLES, tones=TONES, said=said, date=date)
    )
    return directory / HTML


def said(stop: Stop, topic: str) -> list[Remark]:
    return [remark for remark in stop.remarks if remark.topic == topic]


def markdown(day: Day) -> str:
    """For a wiki, or a mail to those who were not there."""
    return "\n".join(_lines(day)) + "\n"


def _lines(day: Day) -> Iterator[str]:
    yield f"# {day.title}"
    until = f"{date(day.began_at)} to {date(day.ended_at) if day.ended_at else '...'}"
    yield f"\n{until}, on the {day.stack} stack ({day.ending or 'going on'})\n"
    yield day.briefing.strip()
    yield "\n## Follow-ups\n"
    for drill, remark in day.follow_ups:
        yield f"- [ ] {remark.text}" + (f" ({drill})" if drill else "")
    if not day.follow_ups:
        yield "None were written down."
    for number, stop in enumerate(day.stops, 1):
        yield f"\n## {number}. {stop.drill}: {stop.verdict or 'not finished'}\n"
        yield f"> {stop.question}\n"
        yield from (f"- {why}" for why in stop.why)
        if stop.run:
            yield f"- the run: [{stop.run}](../{stop.run}/{MARKDOWN})"
        for topic, title in TITLES.items():
            yield from _section(title, said(stop, topic))


def _section(title: str, remarks: list[Remark]) -> Iterator[str]:
    if remarks:
        yield f"\n**{title}**\n"
    for remark in remarks:
        asked = f"{remark.asked} " if remark.asked else ""
        yield f"- {_clock(remark.at)} {asked}{remark.text}"


def _clock(at: str) -> str:
    """The time of day, in UTC."""
    return at[11:19]


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["clock"] = _clock
    return environment.from_string(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
