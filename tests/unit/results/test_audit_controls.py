"""Positive controls: each breaks one promise of a sound world, and exactly the invariant for it must fail."""

from collections.abc import Callable

import pytest

from results.audit import INVARIANTS, Finding
from results.audit.finding import MOST_IDS
from results.audit.state import CommentRow, FeedItem, FollowRow, LikeRow, PostRow, UserRow

from .worlds import BEGAN_MS, World, sound_world, walk


def findings(world: World) -> dict[str, Finding]:
    evidence = world.evidence()
    return {name: invariant(evidence) for name, invariant in INVARIANTS.items()}


def lose_a_post(world: World) -> None:
    world.posts.remove(PostRow("p2", "bob", BEGAN_MS + 5000))
    world.feeds = [walk("alice", "p3", "p1", "old"), walk("carol", "p3", "p1", "old")]


def lose_a_comment(world: World) -> None:
    world.comments.clear()
    world.posts[2] = PostRow("p1", "bob", BEGAN_MS + 4000, likes=1)


def lose_a_like(world: World) -> None:
    world.likes.clear()
    world.posts[2] = PostRow("p1", "bob", BEGAN_MS + 4000, comments=1)
    world.shards.clear()
    world.api_counts.pop(0)


def lose_an_unfollow(world: World) -> None:
    world.follows[2] = FollowRow("carol", "dave", active=True, changed_ms=BEGAN_MS + 1000)
    world.users[2], world.users[3] = UserRow("carol", 0, 2), UserRow("dave", 1, 0)


def double_a_post(world: World) -> None:
    world.wrote("post", "dave", "dave", 9, id="p8")
    for id in ("p8", "p9"):
        world.posts.append(PostRow(id, "dave", BEGAN_MS + 9000))


def double_a_comment(world: World) -> None:
    world.comments.append(CommentRow("c2", "p1", "alice", BEGAN_MS + 8001))
    world.posts[2] = PostRow("p1", "bob", BEGAN_MS + 4000, likes=1, comments=2)


def double_a_follow_row(world: World) -> None:
    world.follows.append(world.follows[0])
    world.users[0], world.users[1] = UserRow("alice", 0, 2), UserRow("bob", 3, 0)
    world.api_counts.pop()


def count_a_like_twice(world: World) -> None:
    world.posts[2] = PostRow("p1", "bob", BEGAN_MS + 4000, likes=2, comments=1)


def count_a_like_twice_in_redis(world: World) -> None:
    world.shards[0] = type(world.shards[0])("p1", 2)


def count_a_follower_too_few(world: World) -> None:
    world.users[1] = UserRow("bob", 1, 0)


def show_an_old_count(world: World) -> None:
    world.api_counts[0] = type(world.api_counts[0])("likes", "p1", 0)


def list_a_follower_twice(world: World) -> None:
    world.api_counts.append(type(world.api_counts[0])("listed followers", "bob", 3))


def do_an_unknown_post_twice(world: World) -> None:
    for id in ("p4", "p5"):
        world.posts.append(PostRow(id, "bob", BEGAN_MS + 6001))


def do_a_refused_post(world: World) -> None:
    world.posts.append(PostRow("p4", "bob", BEGAN_MS + 6001))


def show_an_item_twice(world: World) -> None:
    world.feeds[0].items.insert(1, world.feeds[0].items[0])


def notice_an_item_twice(world: World) -> None:
    world.wrong_feeds["an item twice"] = 3


def forget_a_fan_out(world: World) -> None:
    world.feeds[1] = walk("carol", "p3", "p1", "old")


def mix_up_the_order(world: World) -> None:
    world.feeds[0] = walk("alice", "p3", "p1", "p2", "old")


def show_an_unfollowed_author(world: World) -> None:
    world.feeds[1] = walk("carol", "p3", "p2", "p1", "p0", "old")


def show_anothers_feed(world: World) -> None:
    world.feeds[0] = walk("alice", "p3", "p2", "p1", "old", owner="carol")


def notice_anothers_feed(world: World) -> None:
    world.wrong_feeds["another user's feed"] = 1


CONTROLS: list[tuple[Callable[[World], None], str]] = [
    (lose_a_post, "no_acknowledged_write_lost"),
    (lose_a_comment, "no_acknowledged_write_lost"),
    (lose_a_like, "no_acknowledged_write_lost"),
    (lose_an_unfollow, "no_acknowledged_write_lost"),
    (double_a_post, "no_write_applied_twice"),
    (double_a_comment, "no_write_applied_twice"),
    (double_a_follow_row, "no_write_applied_twice"),
    (count_a_like_twice, "counters_exact"),
    (count_a_like_twice_in_redis, "counters_exact"),
    (count_a_follower_too_few, "counters_exact"),
    (show_an_old_count, "counters_exact"),
    (list_a_follower_twice, "counters_exact"),
    (do_an_unknown_post_twice, "unknown_at_most_once"),
    (do_a_refused_post, "no_refused_write_applied"),
    (show_an_item_twice, "no_duplicate_in_feed"),
    (notice_an_item_twice, "no_duplicate_in_feed"),
    (forget_a_fan_out, "every_post_in_every_feed"),
    (mix_up_the_order, "feed_in_order"),
    (show_an_unfollowed_author, "unfollow_hides"),
    (show_anothers_feed, "nobody_saw_anothers_feed"),
    (notice_anothers_feed, "nobody_saw_anothers_feed"),
]


def test_a_sound_world_keeps_every_invariant() -> None:
    assert {name: finding.ok for name, finding in findings(sound_world()).items()} == dict.fromkeys(
        INVARIANTS, True
    )


@pytest.mark.parametrize(("break_it", "broken"), CONTROLS, ids=[control.__name__ for control, _ in CONTROLS])
def test_a_broken_promise_fails_its_invariant_and_no_other(
    break_it: Callable[[World], None], broken: str
) -> None:
    world = sound_world()
    break_it(world)
    found = findings(world)
    assert [name for name, finding in found.items() if not finding.ok] == [broken]
    assert found[broken].count >= 1
    assert found[broken].ids
    assert found[broken].first
    assert found[broken].worst
    assert found[broken].last


def test_every_invariant_has_a_control() -> None:
    assert {broken for _, broken in CONTROLS} == set(INVARIANTS)


def test_an_empty_world_proves_nothing() -> None:
    undecided = {name for name, finding in findings(World()).items() if finding.ok is None}
    assert undecided == set(INVARIANTS) - {"unknown_at_most_once"}


def test_a_finding_counts_all_and_names_some() -> None:
    world = World()
    for i in range(50):
        world.wrote("post", "bob", "bob", float(i), id=f"p{i}")
    found = INVARIANTS["no_acknowledged_write_lost"](world.evidence())
    assert (found.count, len(found.ids)) == (50, MOST_IDS)
    assert (found.first, found.last) == ("post p0 by bob", "post p49 by bob")
    assert found.text == "50 of 50 acknowledged writes lost"


def test_the_worst_counter_is_named_with_its_distance() -> None:
    world = sound_world()
    world.users[1], world.users[2] = UserRow("bob", 9, 0), UserRow("carol", 1, 1)
    found = INVARIANTS["counters_exact"](world.evidence())
    assert found.worst == "followerCount of user bob is 9, rows: 2 (+7)"


# -- what is right must not be called wrong -----------------------------------------------------------


def kept(world: World, name: str) -> bool | None:
    return findings(world)[name].ok


def test_an_unknown_post_may_be_missing_too() -> None:
    world = sound_world()
    world.posts.pop()
    world.feeds = [walk("alice", "p2", "p1", "old"), walk("carol", "p2", "p1", "old")]
    assert kept(world, "unknown_at_most_once") is True
    assert kept(world, "no_acknowledged_write_lost") is True


def test_posts_of_earlier_runs_are_not_extra() -> None:
    world = sound_world()
    world.posts.append(PostRow("older", "bob", BEGAN_MS - 1))
    assert kept(world, "unknown_at_most_once") is True


def test_writers_that_are_not_in_the_ledger_are_not_judged() -> None:
    world = sound_world()
    world.posts.append(PostRow("px", "eve", BEGAN_MS + 1))
    assert kept(world, "no_write_applied_twice") is True


def test_a_post_from_before_the_follow_is_left_to_the_backfill() -> None:
    world = sound_world()
    world.follows[0] = FollowRow("alice", "bob", active=True, changed_ms=BEGAN_MS + 4500)
    world.feeds[0] = walk("alice", "p3")
    assert kept(world, "every_post_in_every_feed") is True


def test_an_uncertain_follow_promises_nothing() -> None:
    world = sound_world()
    world.wrote("unfollow", "alice", "bob", 9, "unknown")
    world.feeds[0] = walk("alice")
    assert kept(world, "every_post_in_every_feed") is True
    assert kept(world, "unfollow_hides") is True


def test_a_long_feed_may_be_cut_at_its_end() -> None:
    world = sound_world()
    newer = [FeedItem(f"n{i}", "bob", BEGAN_MS + 90_000 - i) for i in range(250)]
    world.feeds[0] = type(world.feeds[0])("alice", ["alice"], newer)
    assert kept(world, "every_post_in_every_feed") is True


def test_a_like_row_that_nobody_asked_for_in_this_run_is_an_older_one() -> None:
    world = sound_world()
    world.likes.append(LikeRow("old", "dave", active=True))
    world.posts[0] = PostRow("old", "bob", BEGAN_MS - 9000, likes=1)
    assert all(finding.ok for finding in findings(world).values())
