"""The app on a stack where everything works, and where workers and instances die."""

import asyncio
import random
import uuid

import httpx

from compose.stack import Component
from compose.waiting import wait_until
from tests.integration.reference_app.town import SOON_S, Town


async def test_a_post_reaches_followers_and_an_unfollow_hides_it(town: Town) -> None:
    author, reader = await town.join(2)
    await town.follow(reader, author)
    assert await town.feed(reader) == []
    post = await town.post(author)
    await town.sees(reader, post)
    answer = await town.ask("DELETE", f"/users/{reader}/following/{author}", by=reader, api=1)
    assert answer.json() == {"following": False, "changed": True}
    assert await town.feed(reader) == []
    await town.follow(reader, author)
    assert await town.feed(reader, api=1) == [post]


async def test_crossing_the_threshold_both_ways_neither_loses_nor_doubles_a_post(town: Town) -> None:
    star, *fans = await town.join(9)
    posts: list[str] = []

    async def posting() -> None:
        for _ in range(30):
            posts.append(await town.post(star))
            await asyncio.sleep(0.1)

    async def coming_and_going() -> None:
        for fan in fans:
            await town.follow(fan, star)
        await asyncio.sleep(1.5)
        for fan in fans[3:]:
            await town.ask("DELETE", f"/users/{fan}/following/{star}", by=fan)
        await asyncio.sleep(0.5)
        for fan in fans[3:]:
            await town.follow(fan, star)

    for fan in fans[:3]:
        await town.feed(fan)
    await asyncio.gather(posting(), coming_and_going())
    await town.drained()
    user = (await town.ask("GET", f"/users/{star}")).json()
    assert (user["followerCount"], user["isCelebrity"]) == (8, True)
    for fan in fans:
        await town.sees(fan, *posts[-20:])
        walked = await walk(town, fan)
        assert walked == list(reversed(posts))
    await town.exact()


async def walk(town: Town, user: str, limit: int = 7) -> list[str]:
    """The ids of a whole feed, page by page, from both API instances in turn."""
    ids: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        answer = await town.ask("GET", "/feed", by=user, params=query, api=len(ids) % 2)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        ids += [item["id"] for item in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            return ids


async def test_likes_toggled_by_many_while_workers_are_killed_are_exact(town: Town) -> None:
    author, *users = await town.join(11)
    post = await town.post(author)
    workers = [member.name for member in town.members(Component.WORKER, "likes")]
    last: dict[str, bool] = {}

    async def toggle(user: str, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(25):
            liked = chance.random() < 0.6
            answer = await town.ask(
                "PUT" if liked else "DELETE", f"/posts/{post}/like", by=user, api=seed % 2
            )
            assert answer.status_code == 202, answer.text
            last[user] = liked
            await asyncio.sleep(chance.random() * 0.15)

    async def kill_them_in_turn() -> None:
        for worker in workers:
            await asyncio.sleep(0.8)
            await town.act("kill", worker)
            await asyncio.sleep(0.4)
            await town.act("start", worker)

    async with asyncio.TaskGroup() as group:
        for number, user in enumerate(users):
            group.create_task(toggle(user, number))
        group.create_task(kill_them_in_turn())
    await town.stack.wait_ready(within_s=60)
    await town.exact()
    expected = sum(last.values())

    async def counted() -> bool:
        return await town.like_count(post) == expected

    await wait_until(counted, f"the count being {expected}", within_s=SOON_S)
    shown = (await town.ask("GET", f"/posts/{post}")).json()
    assert shown["likeCount"] == expected
    assert len(shown["likedBy"]["users"]) + shown["likedBy"]["others"] == expected


async def test_fifty_likes_of_one_user_at_once_are_one_and_fifty_unlikes_none(town: Town) -> None:
    author, user = await town.join(2)
    post = await town.post(author)
    for method, expected in (("PUT", 1), ("DELETE", 0)):
        answers = await asyncio.gather(
            *(town.ask(method, f"/posts/{post}/like", by=user, api=n % 2) for n in range(50))
        )
        assert {answer.status_code for answer in answers} == {202}
        await town.exact()
        await asyncio.sleep(1.1)  # what an API process remembers for a second
        assert await town.like_count(post) == expected


async def test_an_api_killed_under_posts_loses_and_doubles_nothing_acknowledged(town: Town) -> None:
    author, reader = await town.join(2)
    await town.follow(reader, author)
    await town.feed(reader)
    acknowledged: dict[str, str] = {}
    victim = town.members(Component.API)[0].name

    async def write(number: int) -> None:
        """One post, tried with one key until it is acknowledged, as a client should."""
        key = f"post {number} {uuid.uuid4()}"
        for attempt in range(40):
            try:
                answer = await town.ask(
                    "POST", "/posts", by=author, json={"text": key}, key=key, api=attempt % 2
                )
            except httpx.TransportError:
                await asyncio.sleep(0.2)
                continue
            if answer.status_code == 201:
                acknowledged[key] = answer.json()["id"]
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"{key} was never acknowledged")

    async def writer(first: int) -> None:
        for number in range(first, first + 6):
            await write(number)

    async with asyncio.TaskGroup() as group:
        for first in range(0, 48, 6):
            group.create_task(writer(first))
        await asyncio.sleep(0.3)
        await town.act("kill", victim)
        await town.act("start", victim)
    await town.stack.wait_ready(within_s=60)
    await town.drained()
    assert len(set(acknowledged.values())) == len(acknowledged) == 48
    assert sorted(await walk(town, reader, limit=20)) == sorted(acknowledged.values())


async def test_another_worker_stands_in_when_upkeep_is_killed(town: Town) -> None:
    author, reader = await town.join(2)
    upkeep = town.members(Component.WORKER, "upkeep")
    for member in upkeep:
        await town.act("kill", member.name)
    await town.follow(reader, author)

    async def counted() -> bool:
        answer = await town.ask("GET", f"/users/{author}/followers/count")
        return bool(answer.json()["count"] == 1)

    await wait_until(counted, "the follower being counted", within_s=SOON_S)


async def test_a_killed_fan_out_worker_delays_no_post_for_long(town: Town) -> None:
    author, reader = await town.join(2)
    await town.follow(reader, author)
    await town.feed(reader)
    first, *_ = town.members(Component.WORKER, "fanout")
    await town.act("kill", first.name)
    posts = [await town.post(author) for _ in range(12)]
    waited = await town.sees(reader, *posts)
    assert waited < 8, f"it took {waited:.1f} s"  # the budget is 5 s on a machine of its own
    assert len(await town.feed(reader)) == 12
