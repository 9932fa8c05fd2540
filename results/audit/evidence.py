"""What an invariant is decided on: the ledger of the run and the state that it left."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from results.audit.state import FinalState
from results.history import LedgerEntry, OpSecond, SeriesRow

WRONG_CONTENT = "wrong content: "


@dataclass
class Evidence:
    """`ledger` can be iterated more than once. `began_ms` is the run's start by the wall clock, which
    tells the run's own posts from older ones. `wrong_feeds` counts what users noticed in feed pages
    while the run went on ("another user's feed", "an item twice", ...)."""

    ledger: Iterable[LedgerEntry]
    state: FinalState
    began_ms: int = 0
    wrong_feeds: Counter[str] = field(default_factory=Counter)


def wrong_feeds_in(rows: Iterable[SeriesRow]) -> Counter[str]:
    """What was wrong with feed pages that were answered with 200, during the run."""
    seen: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, OpSecond) and row.op == "GET /feed":
            for why, count in row.why.items():
                if why.startswith(WRONG_CONTENT):
                    seen[why.removeprefix(WRONG_CONTENT)] += count
    return seen
