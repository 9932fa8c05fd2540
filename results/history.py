"""The history of a run: the append-only record that every measure, audit and report is made from.

One run is one directory. Files of JSON lines grow while it runs, and share one clock:

    events.jsonl     phases, faults, topology and member changes, notes, aborts     (Event)
    series.jsonl     per second, op and worker: outcomes and latency histograms;
                     per second and worker: how the generator itself did             (SeriesRow)
    staleness.jsonl  one line per staleness probe that was decided                   (StalenessSample)
    ledger.jsonl     one line per write: what was asked and what came back           (LedgerEntry)
    gauges.jsonl     now and then, per member: lag, backlog, memory, open files, ...  (Gauge; optional)

Beside them `run.json` (RunInfo) says what was run. `t` is in seconds since the run's start, on the
monotonic clock that all processes of one machine share; an op belongs to the second of its
*intended* start, so a stall counts in the phase that caused it. Rows of the same second, op and
worker may come more than once (an op that ended late): they add up.

This module is imported by the load generator, so it stays free of sockets, threads and I/O at import.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec

from results.latency import Buckets

EVENTS: Final = "events.jsonl"
SERIES: Final = "series.jsonl"
STALENESS: Final = "staleness.jsonl"
LEDGER: Final = "ledger.jsonl"
GAUGES: Final = "gauges.jsonl"
RUN: Final = "run.json"

T0_ENV: Final = "FEEDSTORM_T0"
"""Environment variable that hands the run's start (a `time.monotonic()` value) to child processes."""

PhaseName: TypeAlias = Literal["warmup", "baseline", "fault", "recovery"]
PHASES: Final[tuple[PhaseName, ...]] = ("warmup", "baseline", "fault", "recovery")

FaultStage: TypeAlias = Literal["inject", "bites", "no_effect", "heal", "healed", "heal_failed"]
"""`inject`/`heal`: the act was done. `bites`/`no_effect`, `healed`/`heal_failed`: what its proof showed."""


class Clock:
    """Seconds since the run's start."""

    def __init__(self, t0: float | None = None) -> None:
        self.t0 = time.monotonic() if t0 is None else t0

    @classmethod
    def of_run(cls) -> "Clock":
        """The clock of the run that this process is a part of; a new one outside any run."""
        t0 = os.environ.get(T0_ENV)
        return cls(float(t0) if t0 else None)

    def now(self) -> float:
        return time.monotonic() - self.t0


# -- events.jsonl -------------------------------------------------------------------------


class Phase(msgspec.Struct, tag="phase", tag_field="kind", frozen=True):
    """A phase begins; it lasts until the next one, or until `End`."""

    t: float
    name: PhaseName


class End(msgspec.Struct, tag="end", tag_field="kind", frozen=True):
    """The last phase is over: the load stops here. `why`: "done", "aborted", "interrupted"."""

    t: float
    why: str = "done"


class Fault(msgspec.Struct, tag="fault", tag_field="kind", frozen=True):
    """One step in the life of a fault. Steps of the same fault share `lease`.

    `on` is the role as the drill names it, `members` what it resolved to at injection time.
    """

    t: float
    lease: str
    fault: str
    on: str
    members: list[str]
    stage: FaultStage
    detail: str = ""


class Topology(msgspec.Struct, tag="topology", tag_field="kind", frozen=True):
    """Who is Mongo primary changed; `primary` is a member's name, None while there is none."""

    t: float
    primary: str | None


class MemberChange(msgspec.Struct, tag="member", tag_field="kind", frozen=True):
    """A member's process changed state (`running`, `paused`, `down`) or became `ready`."""

    t: float
    member: str
    state: str


class Note(msgspec.Struct, tag="note", tag_field="kind", frozen=True):
    """Anything else worth a line in the report. `by` is the part that says it."""

    t: float
    text: str
    by: str = "runner"


class Abort(msgspec.Struct, tag="abort", tag_field="kind", frozen=True):
    """An abort condition was met; every fault is healed and the run ends early."""

    t: float
    condition: str
    observed: str


Event: TypeAlias = Phase | End | Fault | Topology | MemberChange | Note | Abort

# -- series.jsonl -------------------------------------------------------------------------


class OpSecond(msgspec.Struct, tag="op", tag_field="kind", omit_defaults=True):
    """What became of the ops of one name that one worker meant to start in second `t`.

    Histograms hold latencies from the intended start; `service` holds, for all outcomes together,
    the time from the actual send. `shed` counts the deliberate 503s among `failed`; `why` counts
    errors by a short category ("503 shed", "timeout", "connection refused", "wrong content: ...").
    `op` is method and route template, e.g. `"PUT /posts/{id}/like"`.
    """

    t: int
    worker: str
    op: str
    user: str = ""
    ok: Buckets = {}
    failed: Buckets = {}
    unknown: Buckets = {}
    service: Buckets = {}
    shed: int = 0
    stale: int = 0
    why: dict[str, int] = {}


class GeneratorSecond(msgspec.Struct, tag="generator", tag_field="kind", omit_defaults=True):
    """How good one worker's load was in second `t`: planned ops, sent ops, and how late they were sent.

    `arrival` is "open" or "closed". `late` counts sends more than 100 ms after their intended start,
    `slip` is the histogram of that delay; `cpu` is the process's CPU time over wall time (1.0 = one core).
    """

    t: int
    worker: str
    arrival: str = "open"
    planned: int = 0
    sent: int = 0
    late: int = 0
    abandoned: int = 0
    in_flight: int = 0
    slip: Buckets = {}
    cpu: float = 0.0
    rss_mib: float = 0.0


class WorkerChange(msgspec.Struct, tag="worker", tag_field="kind", omit_defaults=True):
    """A worker of the swarm `joined`, was `lost`, `returned` or is `done`. `sent` is its total so far.

    The first `joined` line is also how the runner learns that the load has begun.
    """

    t: float
    worker: str
    state: Literal["joined", "lost", "returned", "done"]
    sent: int = 0
    abandoned: int = 0
    detail: str = ""


SeriesRow: TypeAlias = OpSecond | GeneratorSecond | WorkerChange

# -- staleness.jsonl, ledger.jsonl ----------------------------------------------------------

StalenessPath: TypeAlias = Literal["push", "celebrity", "like_count", "follow_count"]


class StalenessSample(msgspec.Struct, omit_defaults=True):
    """From a write being acknowledged (at `t`) to a reader first seeing it, on the prober's clock.

    `outcome` "seen": `staleness_s` is measured. "breach": not seen by `deadline_s`, which `staleness_s`
    then holds. "unknown": the run ended, or no reader could look, before it could be decided.
    """

    t: float
    path: StalenessPath
    outcome: Literal["seen", "breach", "unknown"]
    staleness_s: float | None
    deadline_s: float
    subject: str = ""
    reader: str = ""
    worker: str = ""


WriteKind: TypeAlias = Literal["post", "comment", "follow", "unfollow", "like", "unlike"]
OutcomeName: TypeAlias = Literal["ok", "failed", "unknown"]


class LedgerEntry(msgspec.Struct, omit_defaults=True):
    """One write. `failed` means definitely not done; `unknown` that it may have been.

    `t` is the intended start and `done` the instant its answer (or the lack of one) was known.
    `actor` is the caller; `target` the user or post acted on (for a post: the author again);
    `id` what the server named the thing (post or comment id); `key` the idempotency key. `abandoned`:
    the generator cut the write off at the end of the run; it is `unknown`, by no fault of the stack.
    """

    t: float
    done: float
    kind: WriteKind
    outcome: OutcomeName
    actor: str
    target: str
    key: str = ""
    id: str = ""
    status: int = 0
    worker: str = ""
    abandoned: bool = False


# -- gauges.jsonl -----------------------------------------------------------------------------


class Gauge(msgspec.Struct, frozen=True):
    """What a member's gauge showed at `t`: `"rss_mib"`, `"open_files"`, `"kafka_lag"`, ...

    Written by whoever watches the stack, every few seconds; charts and drift are made from it.
    """

    t: float
    member: str
    name: str
    value: float


# -- run.json -------------------------------------------------------------------------------


class RunInfo(msgspec.Struct, omit_defaults=True):
    """What was run, on what, and how to run it again. `drill` is the whole drill as it was resolved.

    `for_drift`: its gauges were taken to see whether anything creeps.
    """

    run: str
    drill: dict[str, Any]
    seed: int
    stack: str
    started_at: str
    command: str
    versions: dict[str, str] = {}
    stack_limits: list[str] = []
    host: dict[str, Any] = {}
    population: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for_drift: bool = False


# -- reading and writing ---------------------------------------------------------------------

Row = TypeVar("Row")


class Log(Generic[Row]):
    """An append-only file of JSON lines. One append is one write: readers never see half of a batch."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._encoder = msgspec.json.Encoder()

    def append(self, *rows: Row) -> None:
        """Write the rows as one block. A short write (disk full) raises OSError."""
        data = b"".join(self._encoder.encode(row) + b"\n" for row in rows)
        if data and os.write(self._fd, data) != len(data):
            raise OSError(f"only a part of {len(data)} bytes of history could be written: is the disk full?")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Tail(Generic[Row]):
    """Reads a growing file of JSON lines: each call returns the rows that were added since the last."""

    def __init__(self, path: Path, row_type: Any) -> None:
        self._path, self._decoder = path, msgspec.json.Decoder(row_type)
        self._offset, self._rest = 0, b""

    def read(self) -> list[Row]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [self._decoder.decode(line) for line in lines if line]


def read_rows(path: Path, row_type: Any) -> Iterator[Any]:
    """Every whole line of a file; an unfinished last line, left by a killed writer, is passed over.

    Raises:
        msgspec.DecodeError, msgspec.ValidationError: a finished line is not a row of that type.
    """
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(row_type)
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and len(line) > 1:
                yield decoder.decode(line)


class History(msgspec.Struct):
    """A whole run in memory, apart from the ledger, which is read row by row because it can be large."""

    directory: Path
    run: RunInfo
    events: list[Event]
    series: list[SeriesRow]
    staleness: list[StalenessSample]
    gauges: list[Gauge] = []

    @classmethod
    def load(cls, directory: Path) -> "History":
        """Read a run's directory. Raises FileNotFoundError if it holds no `run.json`."""
        return cls(
            directory=directory,
            run=msgspec.json.decode((directory / RUN).read_bytes(), type=RunInfo),
            events=sorted(read_rows(directory / EVENTS, Event), key=lambda event: event.t),
            series=list(read_rows(directory / SERIES, SeriesRow)),
            staleness=list(read_rows(directory / STALENESS, StalenessSample)),
            gauges=list(read_rows(directory / GAUGES, Gauge)),
        )

    def ledger(self) -> Iterator[LedgerEntry]:
        return read_rows(self.directory / LEDGER, LedgerEntry)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` in one step: a reader sees the old file or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def phases_of(events: Iterable[Event]) -> dict[PhaseName, tuple[float, float]]:
    """Phase name -> (begin, end) in seconds of the run; the last phase ends at `End` or the last event."""
    bounds: dict[PhaseName, tuple[float, float]] = {}
    current: Phase | None = None
    last = 0.0
    for event in events:
        last = max(last, event.t)
        if isinstance(event, Phase | End) and current is not None:
            bounds[current.name] = (current.t, event.t)
            current = None
        if isinstance(event, Phase):
            current = event
    if current is not None:
        bounds[current.name] = (current.t, last)
    return bounds
