"""What a trial of the claims leaves: `claims.json` for machines and plans, `report.html` for people."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from chaos.claims.evidence import Finding, Opinion
from compose.stack import Stack
from results.history import write_atomically

CLAIMS: Final = "claims.json"
STYLES: Final = {
    Opinion.HOLDS: "bold green",
    Opinion.DOES_NOT_HOLD: "bold red",
    Opinion.CANNOT_BE_SHOWN: "bold yellow",
}


class Trial(msgspec.Struct):
    """What `claims.json` holds."""

    run: str
    stack: str
    seed: int
    started_at: str
    versions: dict[str, str] = {}
    stack_limits: list[str] = []
    findings: list[Finding] = []

    @classmethod
    def begin(cls, directory: Path, stack: Stack, seed: int) -> "Trial":
        return cls(
            run=directory.name,
            stack=stack.kind,
            seed=seed,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            versions=stack.versions(),
            stack_limits=list(stack.limits),
        )

    def write(self, directory: Path) -> None:
        """Safe at any moment: a trial that is stopped leaves what it found until then."""
        write_atomically(directory / CLAIMS, msgspec.json.format(msgspec.json.encode(self)))


def read(directory: Path) -> Trial:
    return msgspec.json.decode((directory / CLAIMS).read_bytes(), type=Trial)


def table(findings: list[Finding]) -> RenderableType:
    """The opinions at a glance; beneath each claim, why."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("claim", "here", "what it says"):
        grid.add_column(column, no_wrap=column != "what it says")
    for finding in findings:
        grid.add_row(finding.claim, Text(finding.opinion, style=STYLES[finding.opinion]), finding.says)
    return Group(grid, *(part for finding in findings for part in _reasons(finding)))


def _reasons(finding: Finding) -> Iterator[RenderableType]:
    yield Text(f"\n{finding.claim}: ", "bold").append(finding.opinion, STYLES[finding.opinion])
    for reason in finding.reasons:
        yield Padding(Text(reason), (0, 0, 0, 2))
