"""The invariants by name, as drills ask for them."""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from results.audit.counters import counters_exact
from results.audit.evidence import Evidence
from results.audit.feeds import (
    every_post_in_every_feed,
    feed_in_order,
    no_duplicate_in_feed,
    nobody_saw_anothers_feed,
    unfollow_hides,
)
from results.audit.finding import Finding
from results.audit.writes import (
    no_acknowledged_write_lost,
    no_refused_write_applied,
    no_write_applied_twice,
    unknown_at_most_once,
)
from results.words import unknown_word

Invariant: TypeAlias = Callable[[Evidence], Finding]

ABOUT_WRITES: Final[tuple[Invariant, ...]] = (
    no_acknowledged_write_lost,
    no_write_applied_twice,
    unknown_at_most_once,
    no_refused_write_applied,
    counters_exact,
)
ABOUT_FEEDS: Final[tuple[Invariant, ...]] = (
    no_duplicate_in_feed,
    every_post_in_every_feed,
    feed_in_order,
    unfollow_hides,
    nobody_saw_anothers_feed,
)
INVARIANTS: Final[dict[str, Invariant]] = {
    invariant.__name__: invariant for invariant in (*ABOUT_WRITES, *ABOUT_FEEDS)
}


def needs_feeds(names: Iterable[str]) -> bool:
    """Do any of these invariants look at feeds? Walking them is the slow part."""
    return any(invariant.__name__ in set(names) for invariant in ABOUT_FEEDS)


def check_names(names: Iterable[str]) -> None:
    """Raises ValueError with a plain sentence for a name that is no invariant."""
    for name in names:
        if name not in INVARIANTS:
            raise ValueError(unknown_word(name, "invariant", INVARIANTS))
