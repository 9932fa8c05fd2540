"""Audits a run against the stack that it ran on: wait until quiet, read, ask every invariant.

What is broken at first sight may only be late (a counter that is written back once a second, a cached
number), so the state is read again until nothing is broken or the settling time is over.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from results.audit import sample
from results.audit.api_reader import ApiReader
from results.audit.errors import ReadError
from results.audit.evidence import Evidence, wrong_feeds_in
from results.audit.finding import AuditReport, Finding
from results.audit.invariants import INVARIANTS, check_names, needs_feeds
from results.audit.mongo_reader import MongoReader
from results.audit.quiet import Quiet, wait_quiet
from results.audit.redis_reader import RedisReader
from results.audit.spool import Spool
from results.audit.state import (
    ApiCount,
    CommentRow,
    FeedWalk,
    FinalState,
    FollowRow,
    LikeRow,
    LikeShards,
    PostRow,
    UserRow,
)
from results.history import History, LedgerEntry, write_atomically

AUDIT: Final = "audit.json"
READERS: Final = 100
COUNTERS: Final = 20


@dataclass(frozen=True)
class Sources:
    """Where the final state is read from. Without `redis_url` or `api` that side is not looked at."""

    mongo_uri: str
    mongo_database: str = "feedstorm"
    redis_url: str = ""
    api: Sequence[str] = ()
    worker_metrics: Sequence[str] = ()


class LedgerFile:
    """The ledger of a run, read from its file each time it is iterated."""

    def __init__(self, history: History) -> None:
        self._history = history

    def __iter__(self) -> Iterator[LedgerEntry]:
        return self._history.ledger()


def run(
    directory: Path,
    *,
    mongo_uri: str,
    mongo_database: str = "feedstorm",
    redis_url: str = "",
    api: Sequence[str] = (),
    worker_metrics: Sequence[str] = (),
    invariants: Sequence[str] = (),
    settle_within_s: float = 20.0,
) -> AuditReport:
    """Audit the run in `directory` and write its `audit.json`. Blocking: call it from a thread.

    `api` are base URLs, `worker_metrics` full URLs of `/metrics`. Without `invariants` all are asked.
    A stack that cannot be read is no exception but a report with an `error`.

    Raises:
        ValueError: a name is not an invariant.
        FileNotFoundError: `directory` holds no run.
    """
    names = tuple(invariants) or tuple(INVARIANTS)
    check_names(names)
    sources = Sources(mongo_uri, mongo_database, redis_url, tuple(api), tuple(worker_metrics))
    history, began = History.load(directory), time.monotonic()
    report = _sums(history)
    try:
        _audit(report, history, sources, names, settle_within_s)
    except ReadError as error:
        report.error = str(error)
    report.took_s = round(time.monotonic() - began, 3)
    write_atomically(directory / AUDIT, msgspec.json.format(msgspec.json.encode(report)))
    return report


def read(directory: Path) -> AuditReport | None:
    """The report of an earlier audit; None if there was none."""
    path = directory / AUDIT
    return msgspec.json.decode(path.read_bytes(), type=AuditReport) if path.exists() else None


def _sums(history: History) -> AuditReport:
    """What was cut off by the end of the run is nobody's doubt, and not counted as unknown."""
    outcomes = Counter(entry.outcome for entry in history.ledger() if not entry.abandoned)
    return AuditReport(acknowledged=outcomes["ok"], unknown=outcomes["unknown"])


def _audit(
    report: AuditReport, history: History, sources: Sources, names: Sequence[str], settle_within_s: float
) -> None:
    began = time.monotonic()
    quiet = (
        wait_quiet(sources.worker_metrics, within_s=settle_within_s) if sources.worker_metrics else Quiet(0.0)
    )
    report.caught_up = quiet.after_s is not None
    report.catch_up_s = None if quiet.after_s is None else round(quiet.after_s, 3)
    report.under_way = quiet.under_way
    looks = 0
    while True:
        looked_at, looks = time.monotonic() - began, looks + 1
        report.findings, report.sample = _look(history, sources, names)
        broken = any(finding.ok is False for finding in report.findings)
        if not broken and looks > 1 and report.caught_up:
            report.catch_up_s = round(looked_at, 3)
        if not broken or time.monotonic() - began >= settle_within_s:
            break
        time.sleep(1.0)
    count = {finding.invariant: finding.count for finding in report.findings}
    report.lost = count.get("no_acknowledged_write_lost", 0)
    report.duplicated = count.get("no_write_applied_twice", 0)


def _look(history: History, sources: Sources, names: Sequence[str]) -> tuple[list[Finding], dict[str, int]]:
    """Read the whole state once and ask the invariants; also how much was looked at."""
    with tempfile.TemporaryDirectory(prefix="feedstorm-audit-") as folder:
        state = _read(Path(folder), history, sources, feeds=needs_feeds(names))
        evidence = Evidence(
            ledger=LedgerFile(history),
            state=state,
            began_ms=began_ms(history.run.started_at),
            wrong_feeds=wrong_feeds_in(history.series),
        )
        looked_at = {"feeds": _length(state.feeds), "api_counts": _length(state.api_counts)}
        return [INVARIANTS[name](evidence) for name in names], looked_at


def _read(folder: Path, history: History, sources: Sources, *, feeds: bool) -> FinalState:
    ledger, seed = LedgerFile(history), history.run.seed
    with MongoReader(sources.mongo_uri, sources.mongo_database) as mongo:
        state = FinalState(
            users=Spool.of(folder / "users", UserRow, mongo.users()),
            follows=Spool.of(folder / "follows", FollowRow, mongo.follows()),
            posts=Spool.of(folder / "posts", PostRow, mongo.posts()),
            likes=Spool.of(folder / "likes", LikeRow, mongo.likes()),
            comments=Spool.of(folder / "comments", CommentRow, mongo.comments()),
        )
    if sources.redis_url:
        with RedisReader(sources.redis_url) as redis:
            state.shards = Spool.of(folder / "shards", LikeShards, redis.like_shards())
    if sources.api:
        api = ApiReader(sources.api)
        state.api_counts = Spool.of(folder / "counts", ApiCount, _counts(api, ledger, state, seed))
        if feeds:
            state.feeds = Spool.of(
                folder / "feeds", FeedWalk, api.feeds(_readers(ledger, state, sources, seed))
            )
    return state


def _readers(ledger: LedgerFile, state: FinalState, sources: Sources, seed: int) -> list[str]:
    if not sources.redis_url:
        return sample.readers(ledger, state.follows, set, seed=seed, most=READERS)
    with RedisReader(sources.redis_url) as redis:
        return sample.readers(ledger, state.follows, redis.with_feed, seed=seed, most=READERS)


def _counts(api: ApiReader, ledger: LedgerFile, state: FinalState, seed: int) -> Iterator[ApiCount]:
    yield from api.like_counts(sample.posts(state.posts, seed=seed, most=COUNTERS))
    people = sample.people(ledger, seed=seed, most=COUNTERS)
    yield from api.user_counts(people)
    yield from api.listed(people)


def _length(rows: Iterable[object]) -> int:
    return sum(1 for _ in rows)


def began_ms(started_at: str) -> int:
    """The run's start in milliseconds since the epoch."""
    return round(datetime.fromisoformat(started_at).timestamp() * 1000)
