"""Rows of `results/bench.json`: what was measured, against what it must reach, room by room."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from results.history import write_atomically

FILE = Path(__file__).parents[2] / "results" / "bench.json"


@dataclass(frozen=True)
class Row:
    """`observed` and `must` in `unit`; `rule` is ">=" or "<=" or "<"."""

    measure: str
    observed: float
    rule: str
    must: float
    unit: str
    detail: str = ""

    @property
    def ok(self) -> bool:
        if self.rule == ">=":
            return self.observed >= self.must
        return self.observed <= self.must if self.rule == "<=" else self.observed < self.must

    def __str__(self) -> str:
        mark = "ok" if self.ok else "MISSED"
        must = f"must be {self.rule} {self.must:g}"
        return f"{self.measure:<58} {self.observed:>10.3g} {self.unit:<6} {must:<16} {mark}  {self.detail}"


def publish(room: str, *rows: Row) -> None:
    """Print rows and merge them into the file; a measure's newest row replaces its older one."""
    for row in rows:
        sys.stdout.write(f"\n{row}\n")
    known: dict[str, dict[str, dict[str, object]]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    room_rows = known.setdefault(room, {})
    for row in rows:
        room_rows[row.measure] = {**asdict(row), "ok": row.ok}
    write_atomically(FILE, json.dumps(known, indent=2) + "\n")
