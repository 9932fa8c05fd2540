"""Likes: however a batch is cut, repeated or reordered, counters are the number of active rows."""

from hypothesis import given
from hypothesis import strategies as st

from reference_app.domain.likes import (
    RECENT,
    LikeEvent,
    LikeRow,
    LikeShard,
    RowKey,
    ShardKey,
    apply,
    newest_likers,
    newest_of,
    shard_of,
)

SHARDS = 3

events = st.builds(
    LikeEvent,
    post_id=st.sampled_from(["p", "q"]),
    user_id=st.sampled_from([f"u{n}" for n in range(6)]),
    liked=st.booleans(),
    at=st.integers(1, 40),
)


class Store:
    """Rows and shards that change as the rules say."""

    def __init__(self) -> None:
        self.rows: dict[RowKey, LikeRow] = {}
        self.shards: dict[ShardKey, LikeShard] = {}

    def take(self, batch: list[LikeEvent]) -> list[LikeShard]:
        rows, shards = apply(newest_of(batch), self.rows, self.shards, shard_count=SHARDS)
        self.rows |= {(row.post_id, row.user_id): row for row in rows}
        self.shards |= {(shard.post_id, shard.shard): shard for shard in shards}
        return shards

    def check(self) -> None:
        active = [row for row in self.rows.values() if row.active]
        for (post, number), shard in self.shards.items():
            mine = [row for row in active if row.post_id == post and shard_of(row.user_id, SHARDS) == number]
            assert shard.count == len(mine)
            assert {liker.user_id for liker in shard.recent} <= {row.user_id for row in mine}
            assert len(shard.recent) <= RECENT
        assert sum(shard.count for shard in self.shards.values()) == len(active)


@given(st.lists(st.lists(events, max_size=12), max_size=8))
def test_shards_count_active_rows_after_every_batch(batches: list[list[LikeEvent]]) -> None:
    store = Store()
    for batch in batches:
        store.take(batch)
        store.check()


@given(st.lists(st.lists(events, max_size=12), min_size=1, max_size=8), st.data())
def test_a_replayed_batch_changes_nothing(batches: list[list[LikeEvent]], data: st.DataObject) -> None:
    store = Store()
    for batch in batches:
        store.take(batch)
    rows, shards = dict(store.rows), dict(store.shards)
    assert store.take(data.draw(st.sampled_from(batches))) == []
    assert (store.rows, store.shards) == (rows, shards)


@given(st.permutations([LikeEvent("p", f"u{n % 3}", n % 2 == 0, n) for n in range(1, 10)]))
def test_the_newest_wish_wins_in_whatever_order_they_come(shuffled: list[LikeEvent]) -> None:
    store = Store()
    for event in shuffled:
        store.take([event])
    last = {f"u{n % 3}": n % 2 == 0 for n in range(1, 10)}
    assert {row.user_id: row.active for row in store.rows.values()} == last
    store.check()


@given(st.lists(events, max_size=12))
def test_versions_of_changed_shards_grow_by_one(batch: list[LikeEvent]) -> None:
    store = Store()
    store.take([LikeEvent("p", f"u{n}", True, 1) for n in range(6)])
    known = {key: shard.version for key, shard in store.shards.items()}
    for shard in store.take(batch):
        assert shard.version == known.get((shard.post_id, shard.shard), 0) + 1


def test_of_two_wishes_with_one_version_the_first_wins() -> None:
    store = Store()
    store.take([LikeEvent("p", "u", True, 5), LikeEvent("p", "u", False, 5)])
    store.take([LikeEvent("p", "u", False, 5)])
    assert store.rows["p", "u"].active


def test_the_newest_likers_come_first() -> None:
    store = Store()
    store.take([LikeEvent("p", f"u{n}", True, n) for n in range(1, 7)])
    likers = newest_likers(liker for shard in store.shards.values() for liker in shard.recent)
    assert [liker.user_id for liker in likers] == ["u6", "u5", "u4"]


def test_a_user_is_counted_by_the_same_shard_for_ever() -> None:
    assert shard_of("6f1d3a52-6f0e-4a52-9d44-0f6a3c0a6f11", 100) == 98
