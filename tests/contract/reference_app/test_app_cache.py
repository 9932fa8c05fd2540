"""What the app relies on in its cache, in memory and in Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from reference_app.clock import now_ms
from reference_app.domain.feed import Entry
from reference_app.domain.ids import new_id
from reference_app.domain.likes import LikeShard
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.stores.ports import FeedSlice
from reference_app.stores.redis.feeds import RedisFeeds
from reference_app.stores.redis.link import RedisLink

NOW = 1_700_000_000_000


def entries(count: int, ms: int = NOW) -> list[Entry]:
    return sorted((Entry(ms, new_id()) for _ in range(count)), reverse=True)


async def build(stores: Stores, user: str, some: list[Entry], pulled: list[str] | None = None) -> None:
    revision = await stores.feeds.revision(user)
    assert await stores.feeds.build(user, some, pulled or [], revision=revision)


@asynccontextmanager
async def a_link(settings: Settings, era: str) -> AsyncIterator[RedisLink]:
    link = RedisLink(settings.redis_url, timeout_s=5.0, era=era)
    link.start()
    try:
        async with asyncio.timeout(10):
            await link.usable()
        yield link
    finally:
        await link.close()


async def test_a_feed_is_cold_until_it_is_built_even_if_it_holds_entries(stores: Stores) -> None:
    user, (entry, *_) = new_id(), entries(1)
    await stores.feeds.push(entry, [user])
    await stores.feeds.pull(new_id(), [user])
    assert await stores.feeds.read(user, after=None, limit=5) == FeedSlice([], None)
    await build(stores, user, [])
    found = await stores.feeds.read(user, after=None, limit=5)
    assert found.entries == [entry]
    assert found.pulled is not None
    assert len(found.pulled) == 1


async def test_an_empty_feed_that_was_built_is_not_cold(stores: Stores) -> None:
    user = new_id()
    await build(stores, user, [])
    assert await stores.feeds.read(user, after=None, limit=5) == FeedSlice([], [])


async def test_a_build_merges_with_what_was_pushed_while_it_read(stores: Stores) -> None:
    user, (one, two, three) = new_id(), entries(3)
    revision = await stores.feeds.revision(user)
    await stores.feeds.push(two, [user])
    assert await stores.feeds.build(user, [one, three, two], [], revision=revision)
    assert (await stores.feeds.read(user, after=None, limit=5)).entries == [one, two, three]


async def test_a_build_of_what_was_read_before_content_was_lost_is_refused(stores: Stores) -> None:
    user = new_id()
    assert not await stores.feeds.build(user, entries(1), [], revision="of another time")
    assert (await stores.feeds.read(user, after=None, limit=5)).pulled is None


async def test_a_build_of_what_was_read_before_an_author_was_unfollowed_is_refused(stores: Stores) -> None:
    user, author, (entry, *_) = new_id(), new_id(), entries(1)
    for take_out in (stores.feeds.hide([user], [entry.id]), stores.feeds.unpull(author, [user])):
        assert await stores.feeds.begin_build(user)
        revision = await stores.feeds.revision(user)
        await take_out
        assert not await stores.feeds.build(user, [entry], [author], revision=revision)
        assert (await stores.feeds.read(user, after=None, limit=5)).pulled is None
    assert await stores.feeds.begin_build(user)
    await build(stores, user, [entry])
    assert await stores.feeds.read(user, after=None, limit=5) == FeedSlice([entry], [])


async def test_one_claim_on_building_a_feed_at_a_time(stores: Stores) -> None:
    user = new_id()
    assert await stores.feeds.begin_build(user)
    assert not await stores.feeds.begin_build(user)
    await build(stores, user, [])
    assert await stores.feeds.begin_build(user)


@pytest.mark.parametrize("size", [7, 20])
async def test_a_walk_shows_all_posts_of_one_millisecond(stores: Stores, size: int) -> None:
    user = new_id()
    tied, older = entries(size), entries(2, NOW - 1)
    await build(stores, user, (tied + older)[:20])
    seen: list[Entry] = []
    while found := (await stores.feeds.read(user, after=seen[-1] if seen else None, limit=3)).entries:
        seen += found[:3]
    assert seen == (tied + older)[:20]


async def test_a_feed_keeps_the_newest_of_its_size(stores: Stores) -> None:
    user = new_id()
    await build(stores, user, [])
    some = [Entry(NOW + number, new_id()) for number in range(30)]
    await stores.feeds.add(user, some)
    found = await stores.feeds.read(user, after=None, limit=50)
    assert found.entries == sorted(some, reverse=True)[:20]


async def test_pushing_again_adds_nothing_and_hidden_posts_are_gone(stores: Stores) -> None:
    users, (one, two) = [new_id() for _ in range(600)], entries(2)
    for user in users[:3]:
        await build(stores, user, [])
    await stores.feeds.push(one, users)
    await stores.feeds.push(one, users)
    await stores.feeds.push(two, users)
    await stores.feeds.hide(users[:2], [one.id])
    await stores.feeds.hide(users[:2], [])
    feeds = [(await stores.feeds.read(user, after=None, limit=5)).entries for user in users[:3]]
    assert feeds == [[two], [two], [one, two]]


async def test_feeds_stay_bounded_when_two_authors_take_turns(stores: Stores) -> None:
    """Every feed comes at the same places of both authors' lists: whatever trims by turns would miss it."""
    users = [new_id() for _ in range(130)]
    for user in users[:2]:
        await build(stores, user, [])
    for number in range(1500):
        await stores.feeds.push(Entry(NOW + number, new_id()), users if number % 2 else users[1::-1])
    for user in users[:2]:
        assert len((await stores.feeds.read(user, after=None, limit=2000)).entries) < 1450


async def test_pushing_to_nobody_is_nothing(stores: Stores) -> None:
    await stores.feeds.push(entries(1)[0], [])
    await stores.feeds.add(new_id(), [])
    await stores.feeds.pull(new_id(), [])


async def test_pulled_authors_come_and_go(stores: Stores) -> None:
    user, star = new_id(), new_id()
    await build(stores, user, [], [star])
    await stores.feeds.unpull(star, [user])
    assert (await stores.feeds.read(user, after=None, limit=5)).pulled == []
    await stores.feeds.pull(star, [user])
    assert (await stores.feeds.read(user, after=None, limit=5)).pulled == [star]


async def test_celebrity_posts_are_unknown_until_loaded_and_miss_nothing_published(stores: Stores) -> None:
    star, (one, two, three) = new_id(), entries(3)
    epoch = await stores.feeds.epoch()
    assert await stores.feeds.celebrity_posts(star) is None
    await stores.feeds.publish(star, one)
    assert await stores.feeds.celebrity_posts(star) is None
    assert await stores.feeds.load_celebrity(star, [two, three], epoch=epoch)
    await stores.feeds.publish(star, one)
    for _ in range(20):  # a copy at random each time
        assert await stores.feeds.celebrity_posts(star) == [one, two, three]
    assert not await stores.feeds.load_celebrity(star, [], epoch="of another time")


async def test_a_cache_that_lost_its_content_in_some_other_way_does_not_know_when(stores: Stores) -> None:
    assert await stores.feeds.began_ms() == 0


async def test_a_redis_knows_since_when_it_has_what_it_has(real_settings: Settings) -> None:
    """Whoever connects first after it was started empties it, and says when."""
    before_ms, era = now_ms(), new_id()
    async with a_link(real_settings, era) as link:
        began_ms = await RedisFeeds(link, size=5).began_ms()
        assert before_ms <= began_ms <= now_ms()
        async with a_link(real_settings, era) as another:
            assert await RedisFeeds(another, size=5).began_ms() == began_ms
        await link.call("DEL", "epoch")  # as an eviction would
        assert await RedisFeeds(link, size=5).began_ms() == 0


async def test_an_older_body_never_replaces_a_newer_one(stores: Stores) -> None:
    one, two = new_id(), new_id()
    await stores.bodies.put([(one, 2, b"newer"), (two, 0, b"other")])
    await stores.bodies.put([(one, 1, b"older")])
    assert await stores.bodies.get([two, new_id(), one]) == [b"other", None, b"newer"]
    await stores.bodies.put([(one, 3, b"newest")])
    assert await stores.bodies.get([one]) == [b"newest"]
    await stores.bodies.put([])
    assert await stores.bodies.get([]) == []


async def test_a_comment_page_is_kept_until_it_is_dropped(stores: Stores) -> None:
    post = new_id()
    assert await stores.bodies.comments(post) is None
    await stores.bodies.put_comments(post, b"[]")
    assert await stores.bodies.comments(post) == b"[]"
    await stores.bodies.drop_comments(post)
    assert await stores.bodies.comments(post) is None


async def test_half_a_counter_is_never_shown(stores: Stores) -> None:
    post = new_id()
    part = LikeShard(post, 1, count=3, version=1)
    assert await stores.counters.put([part]) == [post]
    assert await stores.counters.like_count(post) is None
    await stores.counters.load(post, [part, LikeShard(post, 2, count=4, version=1)])
    assert await stores.counters.like_count(post) == 7


async def test_an_older_shard_never_replaces_a_newer_one(stores: Stores) -> None:
    post = new_id()
    await stores.counters.load(post, [LikeShard(post, 0, count=5, version=3)])
    assert await stores.counters.put([LikeShard(post, 0, count=9, version=2)]) == []
    assert await stores.counters.like_count(post) == 5
    await stores.counters.put([LikeShard(post, 0, count=4, version=4), LikeShard(post, 3, 1, 1)])
    assert await stores.counters.like_count(post) == 5
    await stores.counters.load(post, [LikeShard(post, 0, count=9, version=2)])
    assert await stores.counters.like_count(post) == 5
