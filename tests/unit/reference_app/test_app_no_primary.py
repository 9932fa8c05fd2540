"""Without a primary what is read may be old: it is shown as such, and not kept."""

from tests.unit.reference_app.world import World


async def test_a_cold_feed_is_shown_stale_and_not_kept() -> None:
    world = World()
    author, reader = await world.join("author", "reader")
    await world.follow(reader, author)
    post = await world.post(author, "text")
    world.stores.cache.flush()
    world.gone.add("primary")
    page = await world.app.reader.page(reader, after=None, limit=3)
    assert page.stale
    assert [post in body.decode() for body in page.posts] == [True]
    assert (await world.stores.feeds.read(reader, after=None, limit=3)).pulled is None
    world.gone.clear()
    page = await world.app.reader.page(reader, after=None, limit=3)
    assert not page.stale
    assert (await world.stores.feeds.read(reader, after=None, limit=3)).pulled is not None


async def test_a_feed_that_another_primary_saw_the_end_of_is_built_again() -> None:
    world = World()
    author, reader = await world.join("author", "reader")
    await world.follow(reader, author)
    world.stores.cache.flush()
    primaries = iter(["a", "b", "b", "b"])
    world.stores.graph.primary = lambda: next(primaries)  # type: ignore[method-assign]
    page = await world.app.reader.page(reader, after=None, limit=3)
    assert not page.stale
    assert list(primaries) == [], "once with two primaries, and once with one"
