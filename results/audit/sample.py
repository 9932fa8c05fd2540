"""Whose feeds are walked, and which counters are asked for: a seeded sample where faults would show."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Final, TypeAlias

from results.audit.state import FollowRow, PostRow
from results.history import LedgerEntry

_CANDIDATES: Final = 10_000

Held: TypeAlias = Callable[[Sequence[str]], set[str]]
"""Which of these users' feeds are held in the cache?"""


def readers(
    ledger: Iterable[LedgerEntry],
    follows: Iterable[FollowRow],
    held: Held,
    *,
    seed: int,
    most: int,
) -> list[str]:
    """Up to `most` users: a quarter who unfollowed somebody, the others followers of those who posted.

    Of the followers, those whose feed is held come first, because only there a lost fan-out shows.
    """
    random = Random(seed)
    authors, left = set(), set()
    for entry in ledger:
        if entry.outcome == "ok" and entry.kind == "post":
            authors.add(entry.actor)
        elif entry.outcome == "ok" and entry.kind == "unfollow":
            left.add(entry.actor)
    leavers = _some(left, most // 4, random)
    followers = {row.follower for row in follows if row.active and row.followee in authors}
    followers.difference_update(leavers)
    candidates = _some(followers, _CANDIDATES, random)
    warm = held(candidates)
    chosen = [user for user in candidates if user in warm] + [user for user in candidates if user not in warm]
    return leavers + chosen[: most - len(leavers)]


def posts(rows: Iterable[PostRow], *, seed: int, most: int) -> list[str]:
    """Up to `most` posts that were liked, and so have a counter that could be wrong."""
    return _some({row.id for row in rows if row.likes}, most, Random(seed))


def people(ledger: Iterable[LedgerEntry], *, seed: int, most: int) -> list[str]:
    """Up to `most` users who were followed or unfollowed in the run."""
    moved = {entry.target for entry in ledger if entry.kind in ("follow", "unfollow")}
    return _some(moved, most, Random(seed))


def _some(ids: set[str], most: int, random: Random) -> list[str]:
    return random.sample(sorted(ids), min(most, len(ids)))
