"""How a backlog of posts is fanned out: what is asked of whom, and what becomes of the rest if one fails."""

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeAlias

import pytest

from reference_app.clock import now_ms
from reference_app.domain.feed import Entry
from reference_app.domain.model import Post
from reference_app.errors import StoreError, StoreRefusedError
from reference_app.service.fan_out import CHUNK, CLOCK_MARGIN_MS
from tests.unit.reference_app.world import World

LONG_AGO_MS = 60_000
Fails: TypeAlias = Callable[[str, tuple[Any, ...]], bool]
"""By a call's name and arguments."""


class Overheard:
    """A store that counts its calls, and whose calls can be made to fail."""

    def __init__(self, store: Any, calls: Counter[str], fails: Fails | None) -> None:
        self._store, self._calls, self._fails = store, calls, fails

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._calls[name] += 1
            if self._fails and self._fails(name, arguments):
                raise StoreRefusedError("redis", "made to fail")
            return found(*arguments, **named)

        return call


def listen(world: World, fails: Fails | None = None) -> Counter[str]:
    calls: Counter[str] = Counter()
    for name in ("graph", "posts", "feeds"):
        setattr(world.stores, name, Overheard(getattr(world.stores, name), calls, fails))
    return calls


async def backlog(world: World, authors: Sequence[str], *, age_ms: int) -> list[Post]:
    """A post of each, made so long ago; nobody has announced them."""
    made_ms = now_ms() - age_ms
    return [
        await world.stores.posts.add(Post(f"{number:036d}", author, "text", made_ms + number))
        for number, author in enumerate(authors)
    ]


async def a_village(world: World, size: int) -> tuple[str, list[str]]:
    """A reader who follows everybody else."""
    reader, *others = await world.join(*(f"villager {number}" for number in range(size + 1)))
    await world.follow(reader, *others)
    return reader, others


def pushed(world: World, reader: str) -> list[str]:
    return [entry.id for entry in sorted(entries(world, reader))]


def entries(world: World, reader: str) -> list[Entry]:
    return [Entry(ms, post) for post, ms in world.stores.cache.feeds.get(reader, {}).items()]


async def test_what_the_other_has_done_is_not_done_again() -> None:
    world = World()
    reader, authors = await a_village(world, 3)
    posts = await backlog(world, authors, age_ms=LONG_AGO_MS)
    await world.stores.posts.fan_out_paid([posts[0].id])
    await world.app.fan_out.deliver(posts)
    assert pushed(world, reader) == [post.id for post in posts[1:]]
    assert await world.stores.posts.fan_out_owing([post.id for post in posts]) == set()


async def test_what_is_too_new_for_the_sweeper_is_not_looked_up() -> None:
    world = World(outbox_grace_s=2.0)
    reader, authors = await a_village(world, 3)
    posts = await backlog(world, authors, age_ms=0)
    calls = listen(world)
    await world.app.fan_out.deliver(posts)
    assert calls["fan_out_owing"] == 0
    assert pushed(world, reader) == [post.id for post in posts]


async def test_posts_share_their_queries() -> None:
    world = World()
    _, authors = await a_village(world, 4)
    posts = await backlog(world, authors * (CHUNK // 4), age_ms=LONG_AGO_MS)
    calls = listen(world)
    await world.app.fan_out.deliver(posts)
    asked = {name: calls[name] for name in ("users", "follower_pages", "unfollowed_since", "fan_out_paid")}
    assert asked == {"users": 1, "follower_pages": 4, "unfollowed_since": 4, "fan_out_paid": 1}


async def test_nothing_is_asked_of_mongo_while_feeds_cannot_be_written() -> None:
    world = World()
    _, authors = await a_village(world, 3)
    posts = await backlog(world, authors, age_ms=LONG_AGO_MS)
    calls = listen(world)
    world.gone.add("redis")
    with pytest.raises(StoreError, match="redis"):
        await world.app.fan_out.deliver(posts)
    assert calls == {"began_ms": 1}
    assert await world.upkeep.sweep()
    assert not {"follower_pages", "relations", "entries"} & calls.keys()


async def test_what_was_stored_before_the_cache_was_empty_is_in_every_feed_already() -> None:
    clock = itertools.count(10**12, CLOCK_MARGIN_MS + 1)
    world = World(clock.__next__)
    reader, authors = await a_village(world, 3)
    before = await world.post(authors[0], "before")
    world.stores.cache.flush()
    assert await world.feed(reader) == [before]
    after = await world.post(authors[1], "after")
    calls = listen(world)
    await world.app.fan_out.deliver_announced(world.stores.queue.posts)
    assert calls["push"] == 1
    assert await world.feed(reader) == world.right_feed(reader)  # in one millisecond, their ids decide
    assert await world.stores.posts.fan_out_owing([before, after]) == set()


@pytest.mark.parametrize("apart_ms", [0, 1, CLOCK_MARGIN_MS])
async def test_what_may_have_been_stored_after_it_was_empty_is_pushed(apart_ms: int) -> None:
    """The clock of whoever emptied it may be ahead."""
    clock = itertools.count(10**12, apart_ms)
    world = World(clock.__next__)
    reader, authors = await a_village(world, 1)
    post = await world.post(authors[0], "text")
    world.stores.cache.flush()
    await world.app.fan_out.deliver_announced(world.stores.queue.posts)
    assert pushed(world, reader) == [post]


async def test_a_cache_that_does_not_know_when_it_was_empty_is_given_all() -> None:
    world = World()
    reader, authors = await a_village(world, 1)
    post = await world.post(authors[0], "text")
    assert await world.stores.feeds.began_ms() == 0
    await world.app.fan_out.deliver_announced(world.stores.queue.posts)
    assert pushed(world, reader) == [post]


async def test_a_celebritys_posts_from_a_secondary_are_shown_and_not_kept() -> None:
    world = World()
    reader, authors = await a_village(world, 1)
    await world.stores.graph.set_pulled(authors[0])
    await world.stores.graph.set_celebrity(authors[0], is_celebrity=True)
    await world.stores.feeds.pull(authors[0], [reader])
    post = await world.post(authors[0], "text")
    assert await world.feed(reader) == [post]
    world.stores.cache.loaded.clear()
    world.stores.graph = NoPrimary(world.stores.graph)
    assert await world.feed(reader) == [post]
    assert world.stores.cache.loaded == set()


class NoPrimary:
    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def primary(self) -> None:
        return None


@pytest.mark.parametrize(("gone", "swept"), [("", False), ("kafka", True)])
async def test_a_post_that_nobody_can_be_told_of_is_swept_at_once(gone: str, swept: bool) -> None:
    world = World(outbox_grace_s=2.0)
    reader, authors = await a_village(world, 1)
    if gone:
        world.gone.add(gone)
    post = await world.post(authors[0], "text")
    assert await world.upkeep.sweep() is None
    assert pushed(world, reader) == ([post] if swept else [])


async def test_one_that_fails_keeps_no_other_from_its_feeds() -> None:
    world = World()
    reader, authors = await a_village(world, CHUNK + 2)
    posts = await backlog(world, authors, age_ms=LONG_AGO_MS)
    bad = posts[1]
    listen(world, lambda name, arguments: name == "push" and arguments[0].id == bad.id)
    with pytest.raises(StoreError, match="made to fail"):
        await world.app.fan_out.deliver(posts)
    assert set(pushed(world, reader)) == {post.id for post in posts} - {bad.id}
    assert await world.stores.posts.fan_out_owing([post.id for post in posts]) == {bad.id}


async def test_posts_of_celebrities_do_not_wait_for_those_that_are_pushed() -> None:
    world = World()
    _, authors = await a_village(world, CHUNK + 2)
    posts = await backlog(world, authors, age_ms=LONG_AGO_MS)
    star = authors[-1]
    await world.stores.graph.set_pulled(star)
    await world.stores.graph.set_celebrity(star, is_celebrity=True)
    posts[-1] = Post(posts[-1].id, star, "text", posts[-1].created_ms, celebrity=True)
    seen: list[bool] = []

    def fails(name: str, _arguments: tuple[Any, ...]) -> bool:
        if name == "push":
            seen.append(posts[-1].id in world.stores.cache.celebrities.get(star, {}))
        return False

    listen(world, fails)
    await world.app.fan_out.deliver(posts)
    assert len(seen) == len(posts) - 1
    assert all(seen)


async def test_who_unfollowed_before_any_of_the_posts_was_looked_after_gets_none_of_them() -> None:
    world = World()
    reader, authors = await a_village(world, 3)
    posts = await backlog(world, [*authors, authors[0]], age_ms=1000)
    world.stores.graph = Unfollowing(world, reader, authors[0])
    await world.app.fan_out.deliver(posts)
    assert pushed(world, reader) == [posts[1].id, posts[2].id]


class Unfollowing:
    """The graph; `reader` unfollows `author` between being found as a follower and what comes after."""

    def __init__(self, world: World, reader: str, author: str) -> None:
        self._world, self._graph, self._pair = world, world.stores.graph, (reader, author)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def follower_pages(self, author: str) -> AsyncIterator[list[str]]:
        async for page in self._graph.follower_pages(author):
            if author == self._pair[1]:
                await self._graph.set_following(*self._pair, active=False, now_ms=now_ms())
            yield page
