"""The rules about which final states a ledger allows, held against brute force over all orders."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.audit.ledger import made, switches
from results.history import LedgerEntry, OutcomeName

PAIR = ("alice", "bob")


def follow(t: float, done: float, outcome: OutcomeName = "ok") -> LedgerEntry:
    return LedgerEntry(t, done, "follow", outcome, *PAIR)


def unfollow(t: float, done: float, outcome: OutcomeName = "ok") -> LedgerEntry:
    return LedgerEntry(t, done, "unfollow", outcome, *PAIR)


def legal(*entries: LedgerEntry) -> set[bool]:
    switch = switches(entries, "follow")[PAIR]
    return {on for on in (True, False) if switch.may_be(on=on)}


def test_the_last_acknowledged_write_decides() -> None:
    assert legal(follow(1, 1.1)) == {True}
    assert legal(follow(1, 1.1), unfollow(2, 2.1)) == {False}
    assert legal(unfollow(2, 2.1), follow(1, 1.1), follow(3, 3.1)) == {True}


def test_overlapping_writes_may_end_either_way() -> None:
    assert legal(follow(1, 3), unfollow(2, 4)) == {True, False}
    assert legal(follow(1, 3), unfollow(2, 4), follow(5, 6)) == {True}


def test_an_unknown_write_may_have_been_done_or_not() -> None:
    assert legal(follow(1, 1.1), unfollow(2, 2.1, "unknown")) == {True, False}
    assert legal(follow(1, 1.1), follow(2, 2.1, "unknown")) == {True}


def test_an_unknown_write_may_be_done_late() -> None:
    assert legal(unfollow(1, 1.1, "unknown"), follow(9, 9.1)) == {True, False}


def test_only_unknown_writes_allow_anything() -> None:
    assert legal(follow(1, 1.1, "unknown")) == {True, False}


def test_a_refused_write_changes_nothing() -> None:
    assert legal(follow(1, 1.1), unfollow(2, 2.1, "failed")) == {True}
    assert switches([follow(1, 1.1, "failed")], "follow") == {}


def test_other_pairs_and_kinds_are_kept_apart() -> None:
    like = LedgerEntry(1, 1.1, "unlike", "ok", *PAIR)
    assert set(switches([like, follow(1, 1.1)], "follow")) == {PAIR}
    assert switches([like, follow(1, 1.1)], "like")[PAIR].may_be(on=True) is False


OPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 4), st.booleans()), min_size=1, max_size=5
)


@given(OPS)
def test_exactly_the_states_that_some_order_of_the_writes_explains_are_legal(
    ops: list[tuple[bool, int, int, bool]],
) -> None:
    """Brute force: every order that respects "done before the other began", with and without each
    unknown write; an unknown write is never done for certain."""
    entries = [
        (follow if on else unfollow)(t, t + took, "unknown" if unknown else "ok")
        for on, t, took, unknown in ops
    ]
    if all(entry.outcome == "unknown" for entry in entries):
        assert legal(*entries) == {True, False}
        return
    explained = set()
    for order in permutations(entries):
        if any(
            _certainly_before(order[j], order[i]) for i in range(len(order)) for j in range(i + 1, len(order))
        ):
            continue
        explained.add(order[-1].kind == "follow")
        known = [entry for entry in order if entry.outcome == "ok"]
        explained.add(known[-1].kind == "follow")
    assert legal(*entries) == explained


def _certainly_before(a: LedgerEntry, b: LedgerEntry) -> bool:
    return a.outcome == "ok" and a.done < b.t


def post(outcome: OutcomeName, *, id: str = "", key: str = "", t: float = 1.0) -> LedgerEntry:
    return LedgerEntry(t, t + 0.1, "post", outcome, "alice", "alice", key, id)


def test_things_made_are_sorted_by_what_is_known_of_them() -> None:
    account = made([post("ok", id="p1"), post("unknown", key="k"), post("failed"), post("failed")], "post")
    assert account.authors == {"p1": "alice"}
    assert (account.unknown["alice"], account.refused["alice"]) == (1, 2)


def test_a_key_that_was_tried_again_is_one_write() -> None:
    account = made([post("unknown", key="k"), post("unknown", key="k"), post("ok", key="k", id="p1")], "post")
    assert account.unknown["alice"] == 0
    assert made([post("unknown", key="k"), post("unknown", key="k")], "post").unknown["alice"] == 1


@pytest.mark.parametrize("kind", ["comment", "like"])
def test_other_kinds_are_left_out(kind: str) -> None:
    entry = LedgerEntry(1, 2, kind, "ok", "alice", "p1", id="x")  # type: ignore[arg-type]  # parametrized
    assert made([entry], "post").authors == {}
