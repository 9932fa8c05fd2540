"""Pages of merged sources: every entry exactly once, in order, however many share a millisecond."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from reference_app.domain.feed import Entry, before, page_of

entries = st.builds(Entry, ms=st.integers(0, 5), id=st.integers(0, 60).map(lambda n: f"{n:04d}"))
sources = st.lists(st.sets(entries, max_size=30).map(lambda some: sorted(some, reverse=True)), max_size=5)


def walk(parts: list[list[Entry]], limit: int) -> list[Entry]:
    seen: list[Entry] = []
    after: Entry | None = None
    while True:
        page, more = page_of(parts, after=after, limit=limit)
        seen += page
        if not more:
            return seen
        after = page[-1]


@given(sources, st.integers(1, 7))
def test_a_walk_shows_every_entry_exactly_once_newest_first(parts: list[list[Entry]], limit: int) -> None:
    whole = sorted({entry for part in parts for entry in part}, reverse=True)
    assert walk(parts, limit) == whole


@given(sources, st.integers(1, 7), entries)
def test_a_source_need_reach_only_one_entry_past_the_page(
    parts: list[list[Entry]], limit: int, after: Entry
) -> None:
    cut = [list(before(part, after))[: limit + 1] for part in parts]
    assert page_of(cut, after=after, limit=limit) == page_of(parts, after=after, limit=limit)


def test_seven_posts_of_one_millisecond_are_all_shown_by_threes() -> None:
    tied = sorted((Entry(1, str(uuid.uuid4())) for _ in range(7)), reverse=True)
    assert walk([tied], 3) == tied


def test_nothing_is_an_empty_last_page() -> None:
    assert page_of([], after=None, limit=20) == ([], False)
