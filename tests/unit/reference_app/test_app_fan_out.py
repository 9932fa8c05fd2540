"""After an outage the worker and the sweeper share what has piled up."""

import pytest

from reference_app.domain.model import Post
from tests.unit.reference_app.world import World


async def begin(**changes: object) -> tuple[World, list[Post]]:
    """Three posts that are announced and not delivered."""
    world = World(**changes)
    author, reader = await world.join("author", "reader")
    await world.follow(reader, author)
    for text in ("one", "two", "three"):
        await world.post(author, text)
    return world, list(world.stores.queue.posts)


async def test_what_another_has_delivered_is_left_alone() -> None:
    world, posts = await begin()
    await world.app.fan_out.deliver(posts[0])
    world.gone.add("redis")
    await world.app.fan_out.deliver(posts[0])  # no feed is touched, or this would raise


async def test_a_fresh_post_is_delivered_without_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    world, posts = await begin(outbox_grace_s=60.0)

    async def asked(_post_id: str) -> bool:
        raise AssertionError("a query for every post")

    monkeypatch.setattr(world.stores.posts, "owes_fan_out", asked)
    await world.app.fan_out.deliver(posts[0])


async def test_the_sweeper_begins_where_the_worker_will_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    world, posts = await begin()
    delivered: list[str] = []

    async def deliver(post: Post) -> None:
        delivered.append(post.id)

    monkeypatch.setattr(world.app.fan_out, "deliver", deliver)
    owed = await world.stores.posts.fan_out_owed(before_ms=posts[-1].created_ms + 1, limit=10)
    assert await world.upkeep.sweep() is None
    assert delivered == [post.id for post in reversed(owed)]
    assert len(delivered) == len(posts)
