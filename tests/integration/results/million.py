"""A million acknowledged writes and the state they leave, on disk; and their audit in a process of its own.

    python -m tests.integration.results.million FOLDER

audits the invariants about writes on what `prepare` left in FOLDER, and prints how long it took and how
big the process got, as JSON.
"""

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from results.audit.counters import counters_exact
from results.audit.evidence import Evidence
from results.audit.examine import LedgerFile, began_ms
from results.audit.invariants import ABOUT_WRITES
from results.audit.spool import Spool
from results.audit.state import CommentRow, FinalState, FollowRow, LikeRow, PostRow
from results.history import LEDGER, History, LedgerEntry
from tests.unit.results.histories import SyntheticRun

USERS = 50_000
SHARES = {"like": 60, "follow": 20, "post": 10, "comment": 10}


AFTER_MS = 4_000_000_000_000


def uuid(kind: str, number: int) -> str:
    """An id as long as a real one."""
    return f"{kind:0<8}-0000-4000-8000-{number:012d}"


def writes(count: int, seed: int = 1) -> Iterator[LedgerEntry]:
    rng = random.Random(seed)
    kinds = rng.choices(list(SHARES), list(SHARES.values()), k=count)
    posts = 0
    for i, kind in enumerate(kinds):
        t, actor = i / 1000, uuid("a", rng.randrange(USERS))
        if kind == "post":
            posts += 1
            yield LedgerEntry(t, t + 0.01, "post", "ok", actor, actor, "", uuid("b", posts), 201, "w1")
        elif kind == "comment":
            target = uuid("b", rng.randint(1, posts + 1))
            yield LedgerEntry(t, t + 0.01, "comment", "ok", actor, target, "", uuid("c", i), 201, "w1")
        elif kind == "like":
            yield LedgerEntry(
                t, t + 0.01, "like", "ok", actor, uuid("b", rng.randint(1, posts + 1)), status=202
            )
        else:
            followee = uuid("a", rng.randrange(USERS))
            yield LedgerEntry(t, t + 0.01, "follow", "ok", actor, followee, status=200)


def prepare(folder: Path, count: int) -> None:
    """Write the ledger, and what the stores would hold after it: every write once."""
    history = SyntheticRun(folder).history()
    (folder / LEDGER).unlink()
    Spool.of(folder / LEDGER, LedgerEntry, writes(count))
    follows, likes = set(), set()
    posts, comments = [], []
    for entry in LedgerFile(history):
        if entry.kind == "follow":
            follows.add((entry.actor, entry.target))
        elif entry.kind == "like":
            likes.add((entry.target, entry.actor))
        elif entry.kind == "post":
            posts.append(PostRow(entry.id, entry.actor, AFTER_MS))
        else:
            comments.append(CommentRow(entry.id, entry.target, entry.actor, AFTER_MS))
    Spool.of(folder / "follows", FollowRow, (FollowRow(*pair, active=True) for pair in follows))
    Spool.of(folder / "likes", LikeRow, (LikeRow(*pair, active=True) for pair in likes))
    Spool.of(folder / "posts", PostRow, posts)
    Spool.of(folder / "comments", CommentRow, comments)


def evidence_in(folder: Path) -> Evidence:
    history = History.load(folder)
    state = FinalState(
        follows=Spool(folder / "follows", FollowRow),
        likes=Spool(folder / "likes", LikeRow),
        posts=Spool(folder / "posts", PostRow),
        comments=Spool(folder / "comments", CommentRow),
    )
    return Evidence(LedgerFile(history), state, began_ms(history.run.started_at))


def main(folder: Path) -> None:
    began, evidence = time.process_time(), evidence_in(folder)
    findings = {}
    for invariant in ABOUT_WRITES:
        if invariant is counters_exact:  # its counters are not a part of what was prepared
            continue
        finding = invariant(evidence)
        findings[finding.invariant] = [finding.ok, finding.checked]
    took_s = time.process_time() - began
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"took_s": took_s, "peak_mib": peak_mib, "findings": findings}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
