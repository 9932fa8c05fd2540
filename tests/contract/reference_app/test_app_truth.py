"""What the app relies on in the store of the truth, in memory and in MongoDB."""

import asyncio

import pytest

from reference_app.domain.celebrity import Threshold
from reference_app.domain.cursors import Position
from reference_app.domain.feed import Entry
from reference_app.domain.ids import new_id
from reference_app.domain.likes import LikeEvent
from reference_app.domain.model import Comment, Edge, Media, MediaStatus, Post, User
from reference_app.stores.bundle import Stores
from reference_app.stores.ports import Order, Side

NOW = 1_700_000_000_000


def ids(count: int) -> list[str]:
    return sorted(new_id() for _ in range(count))


async def add_users(stores: Stores, count: int) -> list[str]:
    users = ids(count)
    for user in users:
        await stores.graph.add_user(User(user, f"name of {user}", NOW))
    return users


async def add_post(stores: Stores, author: str, ms: int = NOW) -> Post:
    return await stores.posts.add(Post(new_id(), author, "text", ms))


# -- users and relationships ---------------------------------------------------------------


async def test_the_first_user_of_an_id_wins_and_users_come_in_the_order_asked_for(stores: Stores) -> None:
    one, two = await add_users(stores, 2)
    again = await stores.graph.add_user(User(one, "another name", NOW + 1))
    assert again == User(one, f"name of {one}", NOW)
    found = await stores.graph.users([two, new_id(), one, two])
    assert [user.id for user in found] == [two, one]


async def test_following_changes_once_whatever_is_repeated(stores: Stores) -> None:
    one, two = await add_users(stores, 2)
    graph = stores.graph
    assert await graph.set_following(one, two, active=False, now_ms=NOW) is None
    first = await graph.set_following(one, two, active=True, now_ms=NOW)
    assert first is not None
    assert (first.active, first.rev) == (True, 1)
    assert await graph.set_following(one, two, active=True, now_ms=NOW + 1) is None
    second = await graph.set_following(one, two, active=False, now_ms=NOW + 2)
    assert second is not None
    assert (second.active, second.rev) == (False, 2)
    third = await graph.set_following(one, two, active=True, now_ms=NOW + 3)
    assert third is not None
    assert third.rev == 3
    assert await graph.relations([(one, two), (two, one)]) == [third]
    assert await graph.edges(one, Side.FOLLOWING, after=None, order=Order.NEWEST, limit=5) == [
        Edge(two, NOW + 3)
    ]


async def test_of_many_that_follow_at_once_one_changes_it(stores: Stores) -> None:
    one, two = await add_users(stores, 2)
    for active in (True, False, True):
        tries = (stores.graph.set_following(one, two, active=active, now_ms=NOW) for _ in range(20))
        changes = await asyncio.gather(*tries)
        assert len([change for change in changes if change is not None]) == 1


async def test_counts_move_once_when_settled_and_never_twice(stores: Stores) -> None:
    one, two, three = await add_users(stores, 3)
    for follower in (one, three):
        await stores.graph.set_following(follower, two, active=True, now_ms=NOW)
    assert [user.follower_count for user in await stores.graph.users([two])] == [0]
    assert await stores.graph.settle_counts(before_ms=NOW + 1, limit=10) == 2
    assert await stores.graph.settle_counts(before_ms=NOW + 1, limit=10) == 0
    found = await stores.graph.users([one, two, three])
    assert [(user.follower_count, user.following_count) for user in found] == [(0, 1), (2, 0), (0, 1)]
    # Back and forth between two settlements is no change at all.
    await stores.graph.set_following(one, two, active=False, now_ms=NOW)
    await stores.graph.set_following(one, two, active=True, now_ms=NOW)
    await stores.graph.set_following(three, two, active=False, now_ms=NOW)
    assert await stores.graph.settle_counts(before_ms=NOW + 1, limit=10) == 2
    assert [user.follower_count for user in await stores.graph.users([two])] == [1]


async def test_counts_settled_in_several_places_at_once_are_exact(stores: Stores) -> None:
    star, *fans = await add_users(stores, 31)
    for fan in fans:
        await stores.graph.set_following(fan, star, active=True, now_ms=NOW)
    await asyncio.gather(*(stores.graph.settle_counts(before_ms=NOW + 1, limit=7) for _ in range(4)))
    while await stores.graph.settle_counts(before_ms=NOW + 1, limit=7):
        pass
    assert [user.follower_count for user in await stores.graph.users([star])] == [30]


async def test_a_feed_is_owed_until_it_is_paid_for_its_last_state(stores: Stores) -> None:
    one, two = await add_users(stores, 2)
    first = await stores.graph.set_following(one, two, active=True, now_ms=NOW)
    assert first is not None
    assert await stores.graph.feed_owed(before_ms=NOW, limit=5) == []
    assert await stores.graph.feed_owed(before_ms=NOW + 1, limit=5) == [first]
    second = await stores.graph.set_following(one, two, active=False, now_ms=NOW + 5)
    assert second is not None
    assert not await stores.graph.feed_paid(first)
    assert await stores.graph.feed_owed(before_ms=NOW + 9, limit=5) == [second]
    assert await stores.graph.feed_paid(second)
    assert await stores.graph.feed_owed(before_ms=NOW + 9, limit=5) == []


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("side", list(Side))
async def test_pages_of_relationships_show_each_once_across_ties(
    stores: Stores, side: Side, order: Order
) -> None:
    me, *others = await add_users(stores, 8)
    for number, other in enumerate(others):
        pair = (other, me) if side is Side.FOLLOWERS else (me, other)
        await stores.graph.set_following(*pair, active=True, now_ms=NOW + number // 4)
    seen: list[Edge] = []
    after: Position | None = None
    while page := await stores.graph.edges(me, side, after=after, order=order, limit=3):
        seen += page
        after = Position(page[-1].since_ms, page[-1].user_id)
    keys = [(edge.since_ms, edge.user_id) for edge in seen]
    assert keys == sorted(keys, reverse=order is Order.NEWEST)
    assert sorted(edge.user_id for edge in seen) == sorted(others)


async def test_all_followers_come_in_pages_and_those_who_left_are_known(stores: Stores) -> None:
    star, *fans = await add_users(stores, 7)
    for fan in fans:
        await stores.graph.set_following(fan, star, active=True, now_ms=NOW)
    await stores.graph.set_following(fans[0], star, active=False, now_ms=NOW + 10)
    pages = [page async for page in stores.graph.follower_pages(star)]
    assert sorted(user for page in pages for user in page) == fans[1:]
    assert await stores.graph.unfollowed_since(star, NOW + 10) == [fans[0]]
    assert await stores.graph.unfollowed_since(star, NOW + 11) == []
    assert await stores.graph.followees(fans[1], limit=5) == [star]


async def test_the_miscast_are_found_on_both_sides_of_the_threshold(stores: Stores) -> None:
    threshold = Threshold(promote_at=2, demote_below=1)
    star, *fans = await add_users(stores, 3)
    for fan in fans:
        await stores.graph.set_following(fan, star, active=True, now_ms=NOW)
    await stores.graph.settle_counts(before_ms=NOW + 1, limit=10)
    assert [user.id for user in await stores.graph.miscast(threshold, limit=5)] == [star]
    await stores.graph.set_pulled(star)
    await stores.graph.set_celebrity(star, is_celebrity=True)
    assert await stores.graph.miscast(threshold, limit=5) == []
    assert await stores.graph.pulled_among([star, *fans]) == [star]
    for fan in fans:
        await stores.graph.set_following(fan, star, active=False, now_ms=NOW)
    await stores.graph.settle_counts(before_ms=NOW + 1, limit=10)
    assert [user.is_celebrity for user in await stores.graph.miscast(threshold, limit=5)] == [True]


# -- posts -----------------------------------------------------------------------------------


async def test_a_post_is_stored_once_and_owes_its_fan_out(stores: Stores) -> None:
    (author,) = await add_users(stores, 1)
    post = await add_post(stores, author)
    again = await stores.posts.add(Post(post.id, author, "another text", NOW + 1))
    assert again == post
    assert await stores.posts.get([post.id, new_id()]) == [post]
    assert await stores.posts.fan_out_owed(now_ms=NOW - 1, limit=5) == []
    assert await stores.posts.fan_out_owed(now_ms=NOW, limit=5) == [post]
    paid = await add_post(stores, author)
    await stores.posts.fan_out_paid([paid.id])
    assert await stores.posts.fan_out_owing([post.id, paid.id, new_id()]) == {post.id}
    await stores.posts.fan_out_paid([post.id])
    assert await stores.posts.fan_out_owed(now_ms=NOW, limit=5) == []


async def test_what_was_due_first_is_found_first(stores: Stores) -> None:
    (author,) = await add_users(stores, 1)
    late, soon = [Post(new_id(), author, "text", NOW + number) for number in range(2)]
    await stores.posts.add(late, due_ms=NOW + 20)
    await stores.posts.add(soon, due_ms=NOW + 10)
    assert await stores.posts.fan_out_owed(now_ms=NOW + 9, limit=5) == []
    assert await stores.posts.fan_out_owed(now_ms=NOW + 19, limit=5) == [soon]
    assert await stores.posts.fan_out_owed(now_ms=NOW + 20, limit=5) == [soon, late]
    assert await stores.posts.fan_out_owed(now_ms=NOW + 20, limit=1) == [soon]


async def test_the_newest_posts_are_walked_without_gaps_across_ties(stores: Stores) -> None:
    authors = await add_users(stores, 2)
    posts = [await add_post(stores, authors[n % 2], NOW + n // 7) for n in range(14)]
    whole = sorted((Entry(post.created_ms, post.id) for post in posts), reverse=True)
    assert await stores.posts.entries(authors, limit=20) == whole
    assert await stores.posts.entries(authors, limit=5) == whole[:5]
    seen: list[Entry] = []
    while page := await stores.posts.newest(authors, after=seen[-1] if seen else None, limit=3):
        seen += [Entry(post.created_ms, post.id) for post in page]
    assert seen == whole


# -- likes -----------------------------------------------------------------------------------


async def test_likes_are_counted_once_and_written_back_once(stores: Stores) -> None:
    users = await add_users(stores, 6)
    post = await add_post(stores, users[0])
    events = [LikeEvent(post.id, user, True, number) for number, user in enumerate(users, 1)]
    shards = await stores.likes.apply(events)
    assert sum(shard.count for shard in shards) == 6
    assert await stores.likes.apply(events) == []
    assert await stores.likes.owed(limit=5) == [post.id]
    result = await stores.likes.write_back(post.id)
    assert result is not None
    written, written_shards = result
    assert (written.like_count, written.rev) == (6, 1)
    assert written.recent_likers == tuple(reversed(users[3:]))
    assert await stores.likes.write_back(post.id) == result
    await stores.likes.paid(written_shards)
    assert await stores.likes.owed(limit=5) == []
    await stores.likes.apply([LikeEvent(post.id, users[5], False, 99)])
    await stores.likes.paid(written_shards)  # of versions that are past
    assert await stores.likes.owed(limit=5) == [post.id]
    result = await stores.likes.write_back(post.id)
    assert result is not None
    assert result[0].like_count == 5
    assert users[5] not in result[0].recent_likers


async def test_likes_of_posts_that_do_not_exist_change_nothing(stores: Stores) -> None:
    assert await stores.likes.apply([LikeEvent(new_id(), new_id(), True, 1)]) == []
    assert await stores.likes.apply([]) == []


async def test_workers_that_hold_the_same_likes_for_a_moment_count_them_once(stores: Stores) -> None:
    users = await add_users(stores, 20)
    post = await add_post(stores, users[0])
    likes = [LikeEvent(post.id, user, True, 1) for user in users]
    unlikes = [LikeEvent(post.id, user, False, 2) for user in users[:5]]
    await asyncio.gather(*(stores.likes.apply(some) for some in (likes, likes, unlikes, likes, unlikes)))
    shards = await stores.likes.shards(post.id)
    assert sum(shard.count for shard in shards) == 15
    results = await asyncio.gather(*(stores.likes.write_back(post.id) for _ in range(3)))
    assert {result[0].like_count for result in results if result} == {15}


# -- comments, media, signs of life ------------------------------------------------------------


async def test_comments_are_stored_once_counted_once_and_walked_across_ties(stores: Stores) -> None:
    (author,) = await add_users(stores, 1)
    post = await add_post(stores, author)
    made = [Comment(new_id(), post.id, author, "text", NOW + n // 5) for n in range(8)]
    for comment in made:
        assert await stores.comments.add(comment) == comment
    other = Comment(made[0].id, post.id, author, "another text", NOW)
    assert await stores.comments.add(other) == made[0]
    settled = await asyncio.gather(*(stores.comments.settle_counts(limit=3) for _ in range(3)))
    while more := await stores.comments.settle_counts(limit=3):
        settled.append(more)
    assert sum(settled) == 8
    (counted,) = await stores.posts.body_owed(limit=5)
    assert counted.comment_count == 8
    await stores.posts.body_paid([post])  # an older version
    assert await stores.posts.body_owed(limit=5) == [counted]
    await stores.posts.body_paid([counted])
    assert await stores.posts.body_owed(limit=5) == []
    seen: list[Comment] = []
    after: Position | None = None
    while page := await stores.comments.page(post.id, after=after, limit=3):
        seen += page
        after = Position(page[-1].created_ms, page[-1].id)
    assert seen == sorted(made, key=lambda one: (one.created_ms, one.id), reverse=True)


async def test_media_are_pending_until_they_are_ready(stores: Stores) -> None:
    media = Media(new_id(), new_id(), "image/png", NOW)
    assert await stores.media.add(media) == media
    assert await stores.media.pending(limit=5) == [media.id]
    await stores.media.set_ready([media.id])
    again = await stores.media.add(media)
    assert again.status is MediaStatus.READY
    assert await stores.media.get(media.id) == again
    assert await stores.media.get(new_id()) is None
    assert await stores.media.pending(limit=5) == []


async def test_everything_that_is_owed_is_counted(stores: Stores) -> None:
    one, two = await add_users(stores, 2)
    assert await stores.posts.owed() == 0
    post = await add_post(stores, one)
    await stores.graph.set_following(two, one, active=True, now_ms=NOW)
    await stores.likes.apply([LikeEvent(post.id, two, True, 1)])
    await stores.comments.add(Comment(new_id(), post.id, two, "text", NOW))
    assert await stores.posts.owed() == 5  # fan-out, feed, follow count, like shard, comment count


async def test_the_last_sign_of_life_is_kept(stores: Stores) -> None:
    assert await stores.heartbeats.last("upkeep") is None
    await stores.heartbeats.beat("upkeep", 5)
    await stores.heartbeats.beat("upkeep", 7)
    assert await stores.heartbeats.last("upkeep") == 7
