"""Each store taken away, frozen or killed: what users see, for how long, and that nothing is lost."""

import asyncio
import time

from chaos.drivers import commands
from compose.stack import Component
from compose.waiting import wait_until
from tests.integration.reference_app.test_app_whole import walk
from tests.integration.reference_app.town import BOUND_S, SOON_S, Town


async def village(town: Town, posts: int = 5) -> tuple[str, str, list[str]]:
    """An author, a reader with a built feed, and the posts in it, newest first."""
    author, reader = await town.join(2)
    await town.follow(reader, author)
    made = [await town.post(author) for _ in range(posts)]
    await town.sees(reader, *made)
    for api in (0, 1):
        await town.feed(reader, api=api)
    return author, reader, list(reversed(made))


async def becomes_fresh(town: Town, reader: str) -> None:
    async def fresh() -> bool:
        answer = await town.ask("GET", "/feed", by=reader)
        return answer.status_code == 200 and answer.json()["stale"] is False

    await wait_until(fresh, "feeds coming from the cache again", within_s=SOON_S)


async def test_frozen_redis_feeds_are_stale_then_shed_and_recover_by_themselves(town: Town) -> None:
    author, reader, posts = await village(town)
    await town.act("pause", "redis")
    begun = time.monotonic()
    answer = await town.ask("GET", "/feed", by=reader)
    assert time.monotonic() - begun < BOUND_S
    assert (answer.status_code, answer.json()["stale"]) == (200, True)
    assert [item["id"] for item in answer.json()["items"]] == posts
    # More than the fallback lets through in a moment: 40 a second in this stack.
    answers = await asyncio.gather(*(town.ask("GET", "/feed", by=reader) for _ in range(150)))
    shed = [answer for answer in answers if answer.status_code == 503]
    served = [answer for answer in answers if answer.status_code == 200]
    assert len(shed) + len(served) == 150
    assert shed
    assert served
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in shed)
    assert {answer.json()["type"] for answer in shed} == {"urn:feedstorm:shed"}
    assert all(answer.json()["stale"] for answer in served)
    late = await town.post(author)
    ready = (await town.ask("GET", "/readyz")).json()
    assert list(ready["unusable"]) == ["redis"]
    await town.act("resume", "redis")
    await becomes_fresh(town, reader)
    await town.sees(reader, late, *posts)
    await town.exact()


async def test_killed_redis_comes_back_empty_and_feeds_and_counts_are_right(town: Town) -> None:
    author, reader, posts = await village(town)
    await town.ask("PUT", f"/posts/{posts[0]}/like", by=reader)
    await town.drained()
    await town.act("kill", "redis")
    answer = await town.ask("GET", "/feed", by=reader)
    assert (answer.status_code, answer.json()["stale"]) == (200, True)
    await town.ask("PUT", f"/posts/{posts[0]}/like", by=author)
    hidden = (await town.ask("GET", "/feed", by=author)).json()["items"]
    assert hidden == []
    late = await town.post(author)
    await town.act("start", "redis")
    await becomes_fresh(town, reader)
    await town.sees(reader, late, *posts)
    assert await walk(town, reader, limit=3) == [late, *posts]
    await town.exact()

    async def counted() -> bool:
        return await town.like_count(posts[0]) == 2

    await wait_until(counted, "both likes being counted", within_s=SOON_S)


async def test_a_redis_that_refuses_writes_costs_nobody_a_post_or_an_answer(town: Town) -> None:
    """As after a failover of its own, or with its disk full: it answers reads and nothing else."""
    author, reader, posts = await village(town)
    cold, other = await town.join(2)
    await town.follow(cold, author)
    await town.post(other)
    await town.follow(reader, other)
    address = town.members(Component.REDIS)[0].address or ""
    await asyncio.to_thread(commands.refuse_writes, address)
    try:
        answer = await town.ask("GET", "/feed", by=reader)
        assert (answer.status_code, answer.json()["stale"]) == (200, False)
        answer = await town.ask("GET", "/feed", by=cold)
        assert (answer.status_code, answer.json()["stale"]) == (200, True)
        assert [item["id"] for item in answer.json()["items"]] == posts
        late = await town.post(author)
        path = f"/users/{reader}/following/{other}"
        answer = await town.ask("DELETE", path, by=reader)
        assert answer.status_code == 200, answer.text
        for method, what in (("PUT", "like"), ("POST", "comments"), ("GET", "comments")):
            body = {"text": "yes"} if method == "POST" else None
            answer = await town.ask(method, f"/posts/{posts[0]}/{what}", by=reader, json=body)
            assert answer.status_code < 300, f"{method} {what}: {answer.text}"
    finally:
        await asyncio.to_thread(commands.accept_writes, address)
    await town.sees(reader, late, *posts)

    async def only_the_author_is_shown() -> bool:
        return await town.feed(reader) == [late, *posts]

    await wait_until(only_the_author_is_shown, "the unfollowed one being gone", within_s=SOON_S)
    await town.exact()


async def test_a_walk_goes_on_in_mongo_when_redis_dies_half_way(town: Town) -> None:
    _, reader, posts = await village(town, posts=12)
    answer = (await town.ask("GET", "/feed?limit=5", by=reader)).json()
    seen = [item["id"] for item in answer["items"]]
    await town.act("kill", "redis")
    while answer["nextCursor"]:
        path = f"/feed?limit=5&cursor={answer['nextCursor']}"
        answer = (await town.ask("GET", path, by=reader, api=1)).json()
        assert answer["stale"]
        seen += [item["id"] for item in answer["items"]]
    assert seen == posts


async def test_without_a_primary_reads_go_on_and_writes_fail_fast(town: Town) -> None:
    author, reader, posts = await village(town)
    (cold,) = await town.join(1)
    await town.follow(cold, author)
    names = [member.name for member in town.members(Component.MONGO)]
    primary = await asyncio.to_thread(town.stack.primary)
    others = [name for name in names if name != primary]
    await town.act("kill", primary or names[0], others[0])
    town.slowest_s = 0.0
    refused = 0
    for _ in range(25):
        feed, write, like, health = await asyncio.gather(
            town.ask("GET", "/feed", by=reader),
            town.ask("POST", "/posts", by=author, json={"text": "no"}),
            town.ask("PUT", f"/posts/{posts[0]}/like", by=reader),
            town.ask("GET", "/healthz"),
        )
        assert (feed.status_code, feed.json()["stale"]) == (200, False)
        assert [item["id"] for item in feed.json()["items"]] == posts
        assert write.status_code in (503, 504), write.text
        refused += write.status_code == 503
        assert "retry-after" in write.headers
        assert like.status_code == 202
        assert health.status_code == 200
    assert refused >= 20
    shown = (await town.ask("GET", "/feed", by=cold)).json()
    assert shown["stale"], "a secondary's answer may be an old one"
    assert [item["id"] for item in shown["items"]] == posts
    assert town.slowest_s < BOUND_S
    ready = (await town.ask("GET", "/readyz")).json()
    assert list(ready["unusable"]) == ["mongo"]
    for name in (primary or names[0], others[0]):
        await town.act("start", name)
    await town.stack.wait_ready(within_s=60)

    async def accepted() -> bool:
        return (await town.ask("POST", "/posts", by=author, json={"text": "yes"})).status_code == 201

    await wait_until(accepted, "writes being accepted again", within_s=SOON_S)
    await becomes_fresh(town, cold)
    await town.exact()
    await asyncio.sleep(1.1)
    assert await town.like_count(posts[0]) == 1


async def test_while_a_primary_is_elected_nothing_acknowledged_is_lost_or_doubled(town: Town) -> None:
    author, reader, before = await village(town)
    acknowledged: dict[str, str] = {}
    primary = await asyncio.to_thread(town.stack.primary)
    assert primary is not None

    async def write(number: int) -> None:
        key = f"{author} {number}"
        for _ in range(100):
            answer = await town.ask("POST", "/posts", by=author, json={"text": key}, key=key, api=number % 2)
            if answer.status_code == 201:
                acknowledged[key] = answer.json()["id"]
                return
            assert answer.status_code in (503, 504), answer.text
            await asyncio.sleep(0.25)
        raise AssertionError(f"{key} was never acknowledged")

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(write(number))
            if number == 10:
                await town.act("kill", primary)
            await asyncio.sleep(0.05)
    await town.act("start", primary)
    await town.stack.wait_ready(within_s=60)
    await town.drained()
    assert sorted(await walk(town, reader, limit=9)) == sorted([*acknowledged.values(), *before])


async def test_without_kafka_likes_are_refused_and_posts_arrive_all_the_same(town: Town) -> None:
    author, reader, posts = await village(town)
    await town.act("pause", "kafka")
    town.slowest_s = 0.0
    answers = []
    for number in range(12):
        answers.append(await town.ask("PUT", f"/posts/{posts[0]}/like", by=reader, api=number % 2))
    assert {answer.status_code for answer in answers} <= {503, 504}
    assert answers[-1].status_code == 503
    late = [await town.post(author) for _ in range(3)]
    assert town.slowest_s < BOUND_S
    waited = await town.sees(reader, *late, *posts)
    assert waited < 8, f"it took {waited:.1f} s"
    await town.act("resume", "kafka")

    async def accepted() -> bool:
        return (await town.ask("PUT", f"/posts/{posts[0]}/like", by=reader)).status_code == 202

    await wait_until(accepted, "likes being accepted again", within_s=SOON_S)
    await town.exact()
    await asyncio.sleep(1.1)
    assert await town.like_count(posts[0]) == 1
