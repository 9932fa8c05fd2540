"""Writes the reports of a run from what its directory holds, whether the run is complete or not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import results.verdict
from results import audit
from results.history import History, write_atomically
from results.report.html import html
from results.report.junit import junit
from results.report.markdown import markdown
from results.verdict import VERDICT, Verdict, judge

HTML: Final = "report.html"
MARKDOWN: Final = "report.md"
JUNIT: Final = "junit.xml"


@dataclass(frozen=True)
class Paths:
    """Where the reports are."""

    html: Path
    markdown: Path
    junit: Path


def write(directory: Path) -> Paths:
    """Write all three. A run that was not judged yet is judged first.

    Raises:
        FileNotFoundError: `directory` holds no run.
    """
    history = History.load(directory)
    verdict = _verdict_of(history)
    paths = Paths(directory / HTML, directory / MARKDOWN, directory / JUNIT)
    write_atomically(paths.markdown, markdown(verdict, history.run))
    write_atomically(paths.junit, junit(verdict))
    write_atomically(paths.html, html(verdict, history))
    return paths


def _verdict_of(history: History) -> Verdict:
    if (history.directory / VERDICT).exists():
        return results.verdict.read(history.directory)
    return judge(history, audit.read(history.directory))
