"""Things that happen at the same time, in any interleaving: once all is paid, feeds and counters are right.

Before and after every call to a store, whoever makes it may step back for some turns. Hypothesis chooses
what happens and the seed of a schedule; a broken rule is found within a few hundred schedules.
"""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import fields
from inspect import iscoroutinefunction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_app.clock import now_ms
from reference_app.domain.likes import LikeEvent
from reference_app.errors import ShedError
from reference_app.stores.bundle import Stores
from tests.unit.reference_app.world import World


class Turns:
    """How long whoever calls a store steps back: mostly not at all, sometimes for long."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.over = True

    async def step_back(self) -> None:
        if self.over or self._random.random() < 0.7:
            return
        for _ in range(self._random.choice((1, 2, 5, 30))):
            await asyncio.sleep(0)

    def watch(self, stores: Stores) -> None:
        for field in fields(Stores):
            setattr(stores, field.name, _Slow(getattr(stores, field.name), self))


class _Slow:
    def __init__(self, store: Any, turns: Turns) -> None:
        self._store, self._turns = store, turns

    def __getattr__(self, name: str) -> Any:
        method, turns = getattr(self._store, name), self._turns
        if name == "follower_pages":

            async def pages(author: str) -> Any:
                async for page in method(author):
                    await turns.step_back()
                    yield page

            return pages

        if not iscoroutinefunction(method):
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            await turns.step_back()
            result = await method(*arguments, **named)
            await turns.step_back()
            return result

        return call


async def flush(world: World, ids: list[str]) -> None:
    await asyncio.sleep(0)
    world.stores.cache.flush()


async def read(world: World, ids: list[str]) -> None:
    """A flush in the middle of a build may shed this one read."""
    try:
        await world.feed(ids[1])
    except ShedError:
        return


async def sweep(world: World, ids: list[str]) -> None:
    await world.upkeep.sweep()


async def post(world: World, ids: list[str]) -> None:
    await world.post(ids[0], "meanwhile")


async def fan_out(world: World, ids: list[str]) -> None:
    await world.app.fan_out.deliver_announced(list(world.stores.queue.posts))
    await world.app.fan_out.deliver(list(world.stores.truth.posts.values()))


def likes(liked: bool, at: int) -> "Act":
    async def act(world: World, ids: list[str]) -> None:
        events = [LikeEvent(on, ids[1], liked, 10**17 + at) for on in world.stores.truth.posts]
        await world.app.liking.apply(events)

    return act


async def comment(world: World, ids: list[str]) -> None:
    await world.app.commenting.add(next(iter(world.stores.truth.posts)), ids[1], "text", key=None)


def follow(who: int) -> "Act":
    return lambda world, ids: world.follow(ids[who], ids[0])


def unfollow(who: int) -> "Act":
    return lambda world, ids: world.unfollow(ids[who], ids[0])


Act = Callable[[World, list[str]], Awaitable[object]]
ACTS: dict[str, Act] = {
    "flush": flush,
    "read": read,
    "sweep": sweep,
    "post": post,
    "fan out": fan_out,
    "like": likes(True, 1),
    "unlike": likes(False, 2),
    "comment": comment,
    **{f"follow {who}": follow(who) for who in (1, 2, 3, 4)},
    **{f"unfollow {who}": unfollow(who) for who in (1, 2, 3, 4)},
}
acts = st.lists(st.sampled_from(list(ACTS)), min_size=2, max_size=5)
about_the_cache = st.lists(st.sampled_from(["flush", "read", "post", "fan out", "sweep"]), max_size=5)


async def play(before: list[str], together: list[str], seed: int) -> None:
    # Each look at the clock is later by more than clocks may be apart: what was stored before a flush, is.
    world, turns = World(itertools.count(10**12, 10_000).__next__), Turns(seed)
    turns.watch(world.stores)
    ids = await world.join("author", "one", "two", "three", "four")
    for follower in ids[1:3]:
        await world.follow(follower, ids[0])
    await world.post(ids[0], "first")
    await world.settle()
    for act in before:
        await ACTS[act](world, ids)
    turns.over = False
    async with asyncio.TaskGroup() as group:
        for act in together:
            group.create_task(_as_coroutine(ACTS[act](world, ids)))
    turns.over = True
    await world.settle()
    await world.check(ids)


async def _as_coroutine(work: Awaitable[object]) -> None:
    await work


@given(st.lists(st.sampled_from(list(ACTS)), max_size=2), acts, st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_whatever_happens_at_the_same_time_all_is_right_in_the_end(
    before: list[str], together: list[str], seed: int
) -> None:
    asyncio.run(play(before, together, seed))


@given(about_the_cache, about_the_cache, st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_a_cache_that_is_emptied_meanwhile_misses_no_post(
    before: list[str], together: list[str], seed: int
) -> None:
    asyncio.run(play(before, together, seed))


async def test_an_unfollow_wins_over_a_fan_out_that_is_under_way() -> None:
    """The author's followers have been read, the unfollow is done, and only then is the post pushed."""
    world = World()
    author, reader = await world.join("author", "reader")
    await world.follow(reader, author)
    await world.feed(reader)
    post = await world.post(author, "late")
    push = world.stores.feeds.push

    async def late_push(*arguments: Any) -> None:
        await world.unfollow(reader, author)
        await push(*arguments)

    world.stores.feeds.push = late_push  # type: ignore[assignment]  # the one interleaving that matters
    await world.fan_out()
    assert post not in await world.feed(reader)


async def test_two_hundred_readers_of_a_cold_feed_build_it_once() -> None:
    world = World()
    author, reader = await world.join("author", "reader")
    await world.follow(reader, author)
    post = await world.post(author, "text")
    await world.settle()
    world.stores.cache.flush()
    builds = 0
    entries = world.stores.posts.entries

    async def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal builds
        builds += 1
        await asyncio.sleep(0.01)
        return await entries(*arguments, **named)

    world.stores.posts.entries = counted  # type: ignore[method-assign]  # counts what it passes on
    feeds = await asyncio.gather(*(world.feed(reader) for _ in range(200)))
    assert feeds == [[post]] * 200
    assert builds == 1


async def test_at_no_step_of_a_promotion_is_a_post_missing_from_a_feed() -> None:
    """After every call that a promotion makes, a post is published, fanned out and looked for."""
    world = World()
    ids = await world.join("author", "one", "two", "three", "four")
    for reader in ids[1:]:
        await world.follow(reader, ids[0])
        await world.feed(reader)
    await world.stores.graph.settle_counts(before_ms=now_ms() + 1, limit=10)
    (author,) = await world.stores.graph.miscast(world.app.threshold, limit=5)
    posts: list[str] = []

    async def post_and_look() -> None:
        posts.insert(0, await world.post(ids[0], "meanwhile"))
        await world.fan_out()
        for reader in ids[1:]:
            assert sorted(await world.feed(reader)) == sorted(posts)

    for store, name in (
        (world.stores.graph, "set_pulled"),
        (world.stores.graph, "set_celebrity"),
        (world.stores.feeds, "pull"),
    ):
        setattr(store, name, _then(getattr(store, name), post_and_look))
    await world.app.relating.recast(author)
    assert (await world.stores.graph.users([ids[0]]))[0].is_celebrity
    assert len(posts) >= 4


def _then(method: Any, afterwards: Callable[[], Awaitable[None]]) -> Any:
    async def call(*arguments: Any, **named: Any) -> Any:
        result = await method(*arguments, **named)
        await afterwards()
        return result

    return call
