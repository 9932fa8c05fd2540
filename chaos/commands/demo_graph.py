"""`demo-graph`: the social-graph article's own trial, through the HTTP API."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from chaos.commands.common import home_option, run_until_stopped, stack_option
from chaos.drill import Drill
from chaos.errors import CouldNotRunError
from chaos.http import Api, Client
from chaos.live import View
from chaos.session import Request, a_stack
from chaos.stop import Stop

Thing = TypeVar("Thing")
USERS, FOLLOWS, MORE_THAN, AT_ONCE = 1000, 2000, 5, 16


@click.command(name="demo-graph")
@stack_option
@home_option
@click.option("--seed", type=int, default=1, show_default=True)
def demo_graph(stack: str, home: Path, seed: int) -> None:
    """1,000 users, 2,000 random follows; then one user's earliest followers and their count."""
    drill = Drill(drill="demo-graph", question="Who follows whom?")
    request = Request(drill=drill, seed=seed, home=home, runs=Path(), stack=stack)

    async def work(view: View, stop: Stop) -> None:
        async with a_stack(request, view, stop) as there:
            await stop.guard(trial(Client(there.endpoints.api[0]), random.Random(seed), view))

    run_until_stopped(work)


async def trial(client: Api, rng: random.Random, view: View) -> None:
    with view.step(f"creating {USERS} users"):
        users = await _each(range(USERS), lambda n: client.post("/users", {"name": f"user {n}"}))
    ids = [str(user["id"]) for user in users]
    pairs = [rng.sample(range(USERS), 2) for _ in range(FOLLOWS)]
    with view.step(f"{FOLLOWS} random follows"):
        await _each(pairs, lambda pair: _follow(client, ids[pair[0]], ids[pair[1]]))
    followers = Counter(followee for _, followee in {(a, b) for a, b in pairs})
    popular = next((n for n, count in followers.most_common() if count > MORE_THAN), None)
    if popular is None:
        raise CouldNotRunError(
            f"nobody has more than {MORE_THAN} followers with this seed; try another --seed"
        )
    page = await client.get(f"/users/{ids[popular]}/followers?order=oldest&limit=5")
    names = {id_: f"user {n}" for n, id_ in enumerate(ids)}
    click.echo(f"The earliest followers of user {popular}:")
    for item in page["items"]:
        click.echo(f"  {item['since']}  {names[item['userId']]}")
    count = (await client.get(f"/users/{ids[popular]}/followers/count"))["count"]
    click.echo(f"user {popular} has {count} followers (expected: {followers[popular]})")
    if count != followers[popular]:
        raise CouldNotRunError(f"the API counts {count} followers, and {followers[popular]} were made")


async def _follow(client: Api, follower: str, followee: str) -> None:
    await client.put(f"/users/{follower}/following/{followee}", follower)


async def _each(things: Iterable[Thing], call: Callable[[Thing], Awaitable[Any]]) -> list[Any]:
    """Call for every thing, `AT_ONCE` at a time; the answers in order. Raises what the first failure was."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(thing: Thing) -> Any:
        async with gate:
            return await call(thing)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(thing)) for thing in things]
    except* CouldNotRunError as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
