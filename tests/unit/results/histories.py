"""Synthetic runs: a history as a load generator and a runner would have left it, made by a few calls.

    run = SyntheticRun(tmp_path).drill(targets=["feed.error_rate < 5% in fault"])
    run.usual_course().ops("GET /feed", 0, 60, rate=20).ops("GET /feed", 20, 30, rate=20, failed=1)
    history = run.history()

Everything is deterministic. `rate` is in ops per second; `failed` and `unknown` are shares of them.
"""

from pathlib import Path
from typing import Any

import msgspec

from results.history import (
    EVENTS,
    LEDGER,
    RUN,
    SERIES,
    STALENESS,
    End,
    Event,
    Fault,
    GeneratorSecond,
    History,
    LedgerEntry,
    Log,
    OpSecond,
    OutcomeName,
    Phase,
    PhaseName,
    RunInfo,
    SeriesRow,
    StalenessPath,
    StalenessSample,
    Topology,
    WorkerChange,
    WriteKind,
)
from results.latency import Buckets, record

BASELINE_S, FAULT_S, RECOVERY_S, END_S = 5.0, 20.0, 35.0, 65.0


class SyntheticRun:
    """A run's directory in the making. Every call returns the run again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.info = RunInfo(
            run="20261130T120000Z_synthetic",
            drill={"drill": "synthetic"},
            seed=7,
            stack="embedded",
            started_at="2026-11-30T12:00:00+00:00",
            command="feedstorm drill synthetic --seed 7",
            versions={"mongo": "a synthetic one"},
            stack_limits=["Nothing here is real."],
        )
        self.events: list[Event] = []
        self.series: list[SeriesRow] = []
        self.staleness: list[StalenessSample] = []
        self.ledger: list[LedgerEntry] = []

    def drill(self, **parts: Any) -> "SyntheticRun":
        """Set `targets`, `invariants`, `proof`, `question` ... of the drill."""
        self.info.drill |= parts
        return self

    def phase(self, t: float, name: PhaseName) -> "SyntheticRun":
        self.events.append(Phase(t, name))
        return self

    def end(self, t: float, why: str = "done") -> "SyntheticRun":
        self.events.append(End(t, why))
        return self

    def fault(
        self,
        injected_s: float = FAULT_S,
        healed_s: float = RECOVERY_S,
        *,
        fault: str = "kill",
        on: str = "mongo:primary",
        bites: bool | None = True,
        heals: bool | None = True,
    ) -> "SyntheticRun":
        """A whole life of a fault; `bites` or `heals` None leaves the proof out."""
        lease, members = f"{fault}-{len(self.events)}", ["mongo1"]
        self.events.append(Fault(injected_s, lease, fault, on, members, "inject"))
        if bites is not None:
            self.events.append(
                Fault(injected_s + 0.1, lease, fault, on, members, "bites" if bites else "no_effect")
            )
        self.events.append(Fault(healed_s, lease, fault, on, members, "heal"))
        if heals is not None:
            self.events.append(
                Fault(healed_s + 0.1, lease, fault, on, members, "healed" if heals else "heal_failed")
            )
        return self

    def primary(self, t: float, member: str | None) -> "SyntheticRun":
        self.events.append(Topology(t, member))
        return self

    def usual_course(self, **fault: Any) -> "SyntheticRun":
        """Warm-up, a baseline, a primary killed from 20 s to 35 s, a recovery until 65 s; a good load."""
        self.phase(0, "warmup").phase(BASELINE_S, "baseline").phase(FAULT_S, "fault")
        self.phase(RECOVERY_S, "recovery").end(END_S)
        self.primary(0, "mongo1").primary(FAULT_S + 0.2, None).primary(FAULT_S + 3, "mongo2")
        return self.fault(**fault).generator(0, int(END_S))

    def ops(
        self,
        op: str,
        from_s: int,
        to_s: int,
        *,
        rate: int = 20,
        failed: float = 0.0,
        unknown: float = 0.0,
        latency_s: float = 0.02,
        shed: bool = False,
        stale: bool = False,
        user: str = "feed_reader",
        why: str = "timeout",
    ) -> "SyntheticRun":
        """`rate` ops in each second of [from_s, to_s), all of the same latency."""
        bad, unclear = round(rate * failed), round(rate * unknown)
        for second in range(from_s, to_s):
            row = OpSecond(second, "w1", op, user)
            row.ok = _times(latency_s, rate - bad - unclear)
            row.failed, row.unknown = _times(latency_s, bad), _times(latency_s, unclear)
            row.shed, row.stale = bad if shed else 0, rate - bad if stale else 0
            row.why = {why: bad + unclear} if bad + unclear else {}
            self.series.append(row)
        return self

    def generator(
        self,
        from_s: int,
        to_s: int,
        *,
        planned: int = 20,
        sent: int = 20,
        slip_s: float = 0.001,
        cpu: float = 0.3,
    ) -> "SyntheticRun":
        """How the load was generated in these seconds, in place of what was said before."""
        replaced = range(from_s, to_s)
        self.series = [
            row for row in self.series if not (isinstance(row, GeneratorSecond) and row.t in replaced)
        ]
        for second in range(from_s, to_s):
            row = GeneratorSecond(
                second, "w1", planned=planned, sent=sent, slip=_times(slip_s, sent), cpu=cpu
            )
            self.series.append(row)
        return self

    def worker(self, t: float, state: Any, worker: str = "w1") -> "SyntheticRun":
        self.series.append(WorkerChange(t, worker, state))
        return self

    def stale(
        self, t: float, seconds: float | None, path: StalenessPath = "push", **more: Any
    ) -> "SyntheticRun":
        """A staleness sample; None for one that was not seen by its deadline of 30 s."""
        outcome = more.pop("outcome", "seen" if seconds is not None else "breach")
        self.staleness.append(
            StalenessSample(t, path, outcome, 30.0 if outcome == "breach" else seconds, 30.0, **more)
        )
        return self

    def wrote(
        self,
        kind: WriteKind,
        actor: str,
        target: str,
        t: float = 1.0,
        *,
        outcome: OutcomeName = "ok",
        id: str = "",
        key: str = "",
        took_s: float = 0.01,
    ) -> "SyntheticRun":
        self.ledger.append(LedgerEntry(t, t + took_s, kind, outcome, actor, target, key, id))
        return self

    def history(self) -> History:
        """Write the files and read them back as everybody else does."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / RUN).write_bytes(msgspec.json.encode(self.info))
        for name, rows in (
            (EVENTS, self.events),
            (SERIES, self.series),
            (STALENESS, self.staleness),
            (LEDGER, self.ledger),
        ):
            (self.directory / name).unlink(missing_ok=True)
            log: Log[Any] = Log(self.directory / name)
            log.append(*rows)
            log.close()
        return History.load(self.directory)


def _times(seconds: float, count: int) -> Buckets:
    buckets: Buckets = {}
    for _ in range(count):
        record(buckets, seconds)
    return buckets
