"""A process that dies at any step, before or after any call to a store, loses nothing and doubles nothing."""

from collections.abc import Awaitable, Callable
from dataclasses import fields
from inspect import iscoroutinefunction
from typing import Any

import pytest

from reference_app.domain.likes import LikeEvent
from reference_app.stores.bundle import Stores
from tests.unit.reference_app.world import World


class KilledError(BaseException):
    """The process is gone: no handler of ours may run, so it is no Exception."""


class Killer:
    """Counts calls to stores; the process dies at call number `at`, before it or after it."""

    def __init__(self) -> None:
        self.calls, self.at, self.after = 0, 0, False

    def arm(self, at: int, *, after: bool) -> None:
        self.calls, self.at, self.after = 0, at, after

    def disarm(self) -> None:
        self.at = 0

    def watch(self, stores: Stores) -> None:
        for field in fields(Stores):
            setattr(stores, field.name, _Watched(getattr(stores, field.name), self))


class _Watched:
    def __init__(self, store: Any, killer: Killer) -> None:
        self._store, self._killer = store, killer

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        killer = self._killer
        if not iscoroutinefunction(method):
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            killer.calls += 1
            if killer.calls == killer.at and not killer.after:
                raise KilledError
            result = await method(*arguments, **named)
            if killer.calls == killer.at and killer.after:
                raise KilledError
            return result

        return call


async def begin() -> tuple[World, Killer, list[str], str]:
    """A world with a history: four users, one of them about to be a celebrity, a post with likes."""
    world, killer = World(), Killer()
    killer.watch(world.stores)
    ids = await world.join("author", "one", "two", "three")
    for follower in ids[1:3]:
        await world.follow(follower, ids[0])
    post = await world.post(ids[0], "first")
    for user in ids[1:]:
        await world.app.liking.wish(post, user, liked=True)
    await world.settle()
    for user in ids:
        await world.feed(user)
    return world, killer, ids, post


Work = Callable[[World, list[str], str], Awaitable[object]]


async def like_batch(world: World, ids: list[str], post: str) -> None:
    await world.app.liking.wish(post, ids[0], liked=True)
    await world.app.liking.wish(post, ids[1], liked=False)
    await world.take_likes()


async def like_and_write_back(world: World, ids: list[str], post: str) -> None:
    await like_batch(world, ids, post)
    await world.app.liking.write_back(post)


async def post_and_fan_out(world: World, ids: list[str], post: str) -> None:
    await world.post(ids[0], "second", key="k")
    await world.fan_out()


async def follow(world: World, ids: list[str], post: str) -> None:
    await world.follow(ids[3], ids[0])


async def unfollow(world: World, ids: list[str], post: str) -> None:
    await world.unfollow(ids[1], ids[0])


async def cross_the_threshold_while_posting(world: World, ids: list[str], post: str) -> None:
    await world.follow(ids[3], ids[0])
    await world.upkeep.sweep()
    await world.post(ids[0], "as a celebrity", key="c")
    await world.upkeep.sweep()
    await world.unfollow(ids[3], ids[0])
    await world.upkeep.sweep()
    await world.post(ids[0], "one of us again", key="d")


async def comment(world: World, ids: list[str], post: str) -> None:
    await world.app.commenting.add(post, ids[1], "text", key="k")
    await world.upkeep.sweep()


async def build_a_feed(world: World, ids: list[str], post: str) -> None:
    world.stores.cache.flush()
    await world.feed(ids[1])


@pytest.mark.parametrize(
    "work",
    [
        like_batch,
        like_and_write_back,
        post_and_fan_out,
        follow,
        unfollow,
        cross_the_threshold_while_posting,
        comment,
        build_a_feed,
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_dying_at_any_step_leaves_everything_exact_in_the_end(work: Work, after: bool) -> None:
    world, killer, ids, post = await begin()
    killer.arm(0, after=after)
    await work(world, ids, post)
    steps = killer.calls
    assert steps > 0
    for step in range(1, steps + 1):
        world, killer, ids, post = await begin()
        killer.arm(step, after=after)
        with pytest.raises(KilledError):
            await work(world, ids, post)
        killer.disarm()
        # The next process: its queue still holds the batch that was not committed.
        await world.settle()
        await world.check(ids)
        await work(world, ids, post)  # and whoever asked for it asks again
        await world.settle()
        await world.check(ids)


async def test_a_counter_that_is_moved_apart_from_its_rows_is_caught() -> None:
    """The check above can fail: here is a store that writes rows, dies, and would have counted afterwards."""
    world, _, ids, post = await begin()
    event = LikeEvent(post, ids[0], True, 10**18)
    shards = dict(world.stores.truth.shards)
    await world.stores.likes.apply([event])
    world.stores.truth.shards = shards  # the rows are there, their count was lost
    await world.settle()
    with pytest.raises(AssertionError):
        await world.check(ids)
