"""What a swarm did, in a few lines: per op from the intended start, and how good the load itself was."""

import math
from dataclasses import dataclass, field
from typing import Final

from results.history import GeneratorSecond, OpSecond
from results.latency import Buckets, count, quantile

INSTRUMENTS: Final = "staleness_probe"
SATURATED_CPU: Final = 0.9
RATE_TOLERANCE: Final = 0.05


@dataclass
class OpTotal:
    ok: Buckets = field(default_factory=dict)
    failed: Buckets = field(default_factory=dict)
    unknown: int = 0
    shed: int = 0
    why: dict[str, int] = field(default_factory=dict)

    def add(self, row: OpSecond) -> None:
        _merge(self.ok, row.ok)
        _merge(self.failed, row.failed)
        _merge(self.failed, row.unknown)
        self.unknown += count(row.unknown)
        self.shed += row.shed
        _merge(self.why, row.why)


@dataclass
class Summary:
    """Grows with ops, not with seconds."""

    ops: dict[tuple[str, str], OpTotal] = field(default_factory=dict)
    arrival: str = "open"
    planned: int = 0
    sent: int = 0
    late: int = 0
    abandoned: int = 0
    slip: Buckets = field(default_factory=dict)
    saturated_s: dict[str, int] = field(default_factory=dict)

    def add(self, row: OpSecond | GeneratorSecond) -> None:
        if isinstance(row, OpSecond):
            instrument = row.user if row.user == INSTRUMENTS else ""
            self.ops.setdefault((instrument, row.op), OpTotal()).add(row)
            return
        self.arrival = row.arrival
        self.planned += row.planned
        self.sent += row.sent
        self.late += row.late
        self.abandoned += row.abandoned
        _merge(self.slip, row.slip)
        if row.cpu > SATURATED_CPU:
            self.saturated_s[row.worker] = self.saturated_s.get(row.worker, 0) + 1

    def falls_short(self, asked: float) -> str:
        """What to say if clearly fewer arrivals were sent than asked for: 5 %, and chance, are allowed."""
        sent = count(self.slip)
        if sent >= (1 - RATE_TOLERANCE) * asked - 4 * math.sqrt(asked):
            return ""
        return f"the rate was not reached: {asked:.0f} arrivals were asked for, {sent} were sent"

    @property
    def ended(self) -> int:
        """Ops with an outcome: what Locust's own statistics count too."""
        return sum(count(op.ok) + count(op.failed) for op in self.ops.values())

    def lines(self) -> list[str]:
        """For a terminal."""
        start = (
            "intended start" if self.arrival == "open" else "send (closed loop: a stall is felt once a user)"
        )
        shown = [
            f"{'op':<42}{'ok':>9}{'failed':>8}{'unknown':>8}  p50/p95/p99/max ms of ok ops, from the {start}"
        ]
        for (instrument, name), op in sorted(self.ops.items()):
            failed = count(op.failed) - op.unknown
            label = f"{name} (probe)" if instrument else name
            shown.append(f"{label:<42}{count(op.ok):>9}{failed:>8}{op.unknown:>8}  {_quantiles(op.ok)}")
        shown += [f"  {n} x {name}: {why}" for name, why, n in self._reasons()]
        return [*shown, self._quality()]

    def _reasons(self) -> list[tuple[str, str, int]]:
        reasons = [(name, why, n) for (_, name), op in self.ops.items() for why, n in op.why.items()]
        return sorted(reasons, key=lambda reason: -reason[2])[:10]

    def _quality(self) -> str:
        slip = quantile(self.slip, 0.99)
        parts = [f"{self.arrival} loop: planned {self.planned}, sent {self.sent}, late {self.late}"]
        parts.append(f"abandoned: {self.abandoned}")
        if slip is not None:
            parts.append(f"schedule slip p99 {slip * 1000:.1f} ms")
        for worker, seconds in sorted(self.saturated_s.items()):
            parts.append(f"{worker} had no CPU to spare in {seconds} s: its latencies are its own")
        return "; ".join(parts)


def _quantiles(buckets: Buckets) -> str:
    values = [quantile(buckets, q) for q in (0.5, 0.95, 0.99, 1.0)]
    return " / ".join("-" if value is None else f"{value * 1000:.1f}" for value in values)


def _merge(into: dict[int, int] | dict[str, int], part: dict[int, int] | dict[str, int]) -> None:
    for key, n in part.items():
        into[key] = into.get(key, 0) + n  # type: ignore[index,arg-type]  # both of one kind
