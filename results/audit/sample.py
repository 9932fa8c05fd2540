"""Whose feeds are walked, and which counters are asked for: a seeded sample where faults would show."""

from collections.abc import Iterable
from random import Random

from results.audit.state import FollowRow, PostRow
from results.history import LedgerEntry


def readers(
    ledger: Iterable[LedgerEntry], follows: Iterable[FollowRow], *, seed: int, most: int
) -> list[str]:
    """Up to `most` users: followers of those who posted in the run, and a quarter who unfollowed somebody."""
    random = Random(seed)
    authors, left = set(), set()
    for entry in ledger:
        if entry.outcome == "ok" and entry.kind == "post":
            authors.add(entry.actor)
        elif entry.outcome == "ok" and entry.kind == "unfollow":
            left.add(entry.actor)
    followers = {row.follower for row in follows if row.active and row.followee in authors}
    leavers = _some(left, most // 4, random)
    return leavers + _some(followers.difference(leavers), most - len(leavers), random)


def posts(rows: Iterable[PostRow], *, seed: int, most: int) -> list[str]:
    """Up to `most` posts that were liked, and so have a counter that could be wrong."""
    return _some({row.id for row in rows if row.likes}, most, Random(seed))


def people(ledger: Iterable[LedgerEntry], *, seed: int, most: int) -> list[str]:
    """Up to `most` users who were followed or unfollowed in the run."""
    moved = {entry.target for entry in ledger if entry.kind in ("follow", "unfollow")}
    return _some(moved, most, Random(seed))


def _some(ids: set[str], most: int, random: Random) -> list[str]:
    return random.sample(sorted(ids), min(most, len(ids)))
