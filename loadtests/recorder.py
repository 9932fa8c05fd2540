"""What one process saw: per second and op, outcomes and histograms; taken out about once a second.

Memory is bounded by ops, not by ids: rows are by route template, and past MAX_OPS templates the
rest are counted together.
"""

import time
from typing import Any, Final

import psutil

from loadtests import outcomes
from loadtests.http.response import Response
from loadtests.http.traffic import Traffic
from loadtests.outcomes import Verdict
from results.history import Clock, GeneratorSecond, OpSecond
from results.latency import record

MAX_OPS: Final = 300
MAX_REASONS: Final = 30  # in one row; people's own categories may have ids in them
OTHER: Final = "(other)"


class Recorder:
    """Listens to Locust's request event. All times are seconds of the run."""

    def __init__(self, clock: Clock, traffic: Traffic, worker: str, *, arrival: str) -> None:
        self.worker = worker
        self._clock, self._traffic, self._arrival = clock, traffic, arrival
        self._rows: dict[tuple[int, str, str, str], OpSecond] = {}
        self._ops: set[tuple[str, str]] = set()
        self._process = psutil.Process()
        self._planned, self._sent, self._late, self._abandoned = self._counts()
        self._cpu_s, self._taken_at = time.process_time(), time.monotonic()

    def on_request(
        self,
        request_type: str,
        name: str,
        response_time: float,
        response: object = None,
        exception: BaseException | None = None,
        **_: Any,
    ) -> None:
        """One op has ended. Ops of other clients than ours are taken as Locust measured them."""
        if not isinstance(response, Response):
            self._foreign(request_type, name, response_time / 1000, exception)
            return
        key = (int(response.intended - self._clock.t0), request_type, name, response.user)
        row = self._rows.get(key) or self._row(*key)
        record(row.service, response.ended_at - response.sent_at)
        self._count(row, response.verdict, response.ended_at - response.intended)
        if response.stale:
            row.stale += 1
        if response.failover:
            _add(row.why, f"failover: {response.failover}")

    def _foreign(self, method: str, name: str, seconds: float, exception: BaseException | None) -> None:
        self._traffic.begin(None)
        self._traffic.end()
        row = self._row(int(self._clock.now() - seconds), method, name, "")
        record(row.service, seconds)
        verdict = outcomes.OK if exception is None else Verdict("failed", type(exception).__name__)
        self._count(row, verdict, seconds)

    def _count(self, row: OpSecond, verdict: Verdict, seconds: float) -> None:
        if verdict.outcome == "ok":
            record(row.ok, seconds)
            return
        record(row.failed if verdict.outcome == "failed" else row.unknown, seconds)
        _add(row.why, verdict.why)
        row.shed += verdict.shed

    def _row(self, second: int, method: str, name: str, user: str) -> OpSecond:
        key = (second, method, name, user)
        row = self._rows.get(key)
        if row is not None:
            return row
        if (method, name) not in self._ops:
            if len(self._ops) >= MAX_OPS and name != OTHER:
                return self._row(second, method, OTHER, user)
            self._ops.add((method, name))
        row = OpSecond(second, self.worker, f"{method} {name}", user)
        self._rows[key] = row
        return row

    def take(self) -> list[OpSecond | GeneratorSecond]:
        """Everything since the last time, and how the generator did since then."""
        rows: list[OpSecond | GeneratorSecond] = list(self._rows.values())
        self._rows = {}
        rows.append(self._generator_second())
        return rows

    def _counts(self) -> tuple[int, int, int, int]:
        traffic = self._traffic
        return traffic.planned, traffic.sent, traffic.late, traffic.abandoned

    def _generator_second(self) -> GeneratorSecond:
        """Counts go to the second in which they happened; CPU is over the time since the last row."""
        before, wall_before, cpu_before = (
            (self._planned, self._sent, self._late, self._abandoned),
            self._taken_at,
            self._cpu_s,
        )
        self._planned, self._sent, self._late, self._abandoned = now = self._counts()
        self._cpu_s, self._taken_at = time.process_time(), time.monotonic()
        planned, sent, late, abandoned = (a - b for a, b in zip(now, before, strict=True))
        return GeneratorSecond(
            t=max(0, int((wall_before + self._taken_at) / 2 - self._clock.t0)),
            worker=self.worker,
            arrival=self._arrival,
            planned=planned,
            sent=sent,
            late=late,
            abandoned=abandoned,
            in_flight=self._traffic.in_flight,
            slip=self._traffic.take_slip(),
            cpu=round((self._cpu_s - cpu_before) / max(1e-6, self._taken_at - wall_before), 3),
            rss_mib=round(self._process.memory_info().rss / 2**20, 1),
        )


def _add(why: dict[str, int], category: str) -> None:
    if category not in why and len(why) >= MAX_REASONS:
        category = OTHER
    why[category] = why.get(category, 0) + 1
