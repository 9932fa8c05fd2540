"""What a feed is: the newest posts of the people one follows, each exactly once, newest first.

Every store orders entries alike, by (`ms`, `id`) descending: Redis sorts members of equal score by their
bytes, Mongo sorts by `createdAt` and then `_id`. So a page is the same wherever it was read.
"""

import heapq
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple


class Entry(NamedTuple):
    """One post in a feed: when it was made (ms since 1970) and its id."""

    ms: int
    id: str


def before(entries: Sequence[Entry], after: Entry | None) -> Sequence[Entry]:
    """The part of a newest-first list that is older than `after`."""
    if after is None:
        return entries
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < after:
            high = middle
        else:
            low = middle + 1
    return entries[low:]


def page_of(
    sources: Iterable[Sequence[Entry]], *, after: Entry | None, limit: int
) -> tuple[list[Entry], bool]:
    """Merge newest-first sources into one page: its entries, and whether more follow.

    An entry that several sources hold (a post pushed before its author became a celebrity, say) is
    shown once. Each source needs to reach no further than `limit + 1` entries past `after`.
    """
    parts = [part for source in sources if (part := before(source, after))]
    if len(parts) == 1:
        entries = list(dict.fromkeys(islice(parts[0], limit + 1)))
    else:
        entries = []
        for entry in heapq.merge(*parts, reverse=True):
            if not entries or entry != entries[-1]:
                entries.append(entry)
                if len(entries) > limit:
                    break
    return entries[:limit], len(entries) > limit
