"""Every query that the app sends is served by an index: shown by the server's plans, and by the indexes
themselves where the server does not explain the whole query.

The commands are taken from the wire while the app does everything that it does, so a new query is
checked without anybody thinking of it. SecantusDB explains only part of what it does: a filter on `_id`
with something besides, an `$or`, a range beside an `$in`: it calls each a collection scan and makes none,
and a sort it calls a sort whatever index it walks. So there the part that bounds the scan is explained, and
the order is checked against the declared indexes. A real mongod explains the query as it is.
"""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from reference_app.app import App
from reference_app.build import Build
from reference_app.domain.cursors import Position
from reference_app.domain.feed import Entry
from reference_app.domain.ids import new_id
from reference_app.domain.likes import LikeEvent
from reference_app.domain.model import Post, User
from reference_app.settings import Settings
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.schema import COLLECTIONS, Document, ensure_schema
from reference_app.stores.ports import Order, Side
from reference_app.workers.upkeep import UpkeepWorker

NOW = 1_700_000_000_000


@dataclass(frozen=True)
class Query:
    """A filter on a collection, with the order asked for; `command` is who sends it."""

    command: str
    collection: str
    filter: Document
    sort: Document

    @property
    def shape(self) -> str:
        """The same for queries that differ in values alone."""
        return f"{self.command} {self.collection} {_shape(self.filter)} sort {json.dumps(self.sort)}"


def _shape(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_shape(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return f"[{_shape(value[0]) if value else ''}]"
    return "_"


class Overhear(CommandListener):
    """Collects every query of the commands that have one."""

    def __init__(self) -> None:
        self.queries: dict[str, Query] = {}

    def started(self, event: CommandStartedEvent) -> None:
        command = event.command
        collection = str(command.get(event.command_name))
        if event.command_name == "find":
            self._add("find", collection, command["filter"], command.get("sort"))
        elif event.command_name == "findAndModify":
            self._add("findAndModify", collection, command["query"], command.get("sort"))
        elif event.command_name == "update":
            for one in command["updates"]:
                self._add("update", collection, one["q"], None)
        elif event.command_name in ("aggregate", "delete", "count", "distinct"):
            first = (command.get("pipeline") or [{}])[0]
            self._add(event.command_name, collection, first.get("$match", command.get("query", {})), None)

    def _add(self, command: str, collection: str, filter_: Any, sort: Any) -> None:
        query = Query(command, collection, dict(filter_), dict(sort or {}))
        self.queries.setdefault(query.shape, query)

    def succeeded(self, event: CommandSucceededEvent) -> None: ...

    def failed(self, event: CommandFailedEvent) -> None: ...


class OverheardBuild(Build):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.overheard = Overhear()
        self.mongo = MongoLink(settings, listeners=[self.overheard])


@pytest.fixture
async def build(real_settings: Settings) -> AsyncIterator[OverheardBuild]:
    build = OverheardBuild(real_settings)
    async with build.connected(kafka=False):
        await ensure_schema(build.mongo.db)
        await build.redis.usable()
        yield build
        await build.mongo.client.drop_database(real_settings.mongo_database)


async def do_everything(app: App) -> None:
    """Each query that the app can send, in all its shapes."""
    graph, posts, upkeep = app.stores.graph, app.stores.posts, UpkeepWorker(app)
    author, *fans = [new_id() for _ in range(4)]
    for user in (author, *fans):
        await graph.add_user(User(user, "name", NOW))
    for fan in fans:
        await app.relating.set_following(fan, author, active=True)
    made = [await posts.add(Post(new_id(), author, "text", NOW + number)) for number in range(3)]
    await app.fan_out.deliver([made[0]])
    await app.commenting.add(made[0].id, fans[0], "text", key="k")
    await app.liking.apply([LikeEvent(made[0].id, fan, True, 1) for fan in fans])
    assert await upkeep.sweep() is None
    await app.relating.set_following(fans[0], author, active=False)
    await app.fan_out.deliver([made[1]])
    await graph.set_pulled(author)
    await graph.set_celebrity(author, is_celebrity=True)
    for user in (author, *fans):
        await app.reader.page(user, after=None, limit=2)
    for side in Side:
        for order in Order:
            for after in (None, Position(NOW, fans[1])):
                await graph.edges(author, side, after=after, order=order, limit=2)
    await posts.newest([author, *fans], after=None, limit=2)
    await posts.newest([author], after=Entry(NOW + 2, made[2].id), limit=2)
    await app.commenting.page(made[0].id, after=Position(NOW, made[0].id), limit=2)
    await app.uploading.begin(author, "image/png", key="k")
    await app.posting.body(made[2].id)
    await graph.relations([(fans[0], author)])
    await app.stores.heartbeats.last("upkeep")
    assert await upkeep.sweep() is None


def stages(plan: Any) -> Iterator[str]:
    """The names of all stages of a plan, wherever they are nested."""
    if isinstance(plan, dict):
        if isinstance(plan.get("stage"), str):
            yield plan["stage"]
        for part in plan.values():
            yield from stages(part)
    elif isinstance(plan, list):
        for part in plan:
            yield from stages(part)


def bounding(filter_: Document) -> Document:
    """The part of a filter that bounds the scan: the rest only passes over what was found."""
    if "_id" in filter_:
        return {"_id": filter_["_id"]}
    ranged = any(isinstance(value, dict) and "$in" in value for value in filter_.values())
    return {
        name: value for name, value in filter_.items() if name != "$or" and not (ranged and is_range(value))
    }


def is_range(value: Any) -> bool:
    return isinstance(value, dict) and bool(set(value) & {"$lt", "$lte", "$gt", "$gte"})


async def explained(build: Build, query: Query, *, whole: bool) -> set[str]:
    find: Document = {"find": query.collection, "filter": query.filter if whole else bounding(query.filter)}
    if query.sort and whole:
        find |= {"sort": query.sort, "limit": 20}
    answer = await build.mongo.db.command("explain", find, verbosity="queryPlanner")
    return set(stages(answer["queryPlanner"]["winningPlan"]))


def is_ordered_by_an_index(query: Query) -> bool:
    """Some declared index begins with the fields that are fixed and goes on with the order asked for."""
    if len(set(query.sort.values())) > 1:
        return False
    fixed = {name for name, value in query.filter.items() if name != "$or" and not is_range(value)}
    for index in COLLECTIONS[query.collection].indexes:
        names = list(index.document["key"])
        rest = names[len(fixed) :]
        if set(names[: len(fixed)]) == fixed and rest[: len(query.sort)] == list(query.sort):
            return True
    return False


async def test_every_query_of_the_app_is_served_by_an_index(build: OverheardBuild) -> None:
    await do_everything(build.app())
    queries = build.overheard.queries
    assert len(queries) > 30
    assert {query.collection for query in queries.values()} >= {"users", "follows", "posts", "likes"}
    whole = "secantus" not in str(await build.mongo.db.command("buildInfo")).lower()
    bad: list[str] = []
    for query in queries.values():
        plan = await explained(build, query, whole=whole)
        if "COLLSCAN" in plan or not plan or ("SORT" in plan and whole):
            bad.append(f"{query.shape}: {sorted(plan)}")
        if query.sort and not is_ordered_by_an_index(query):
            bad.append(f"{query.shape}: no index has this order")
    assert not bad, "\n".join(bad)


def is_targeted(query: Query) -> bool:
    """Whether a router sends it to the shards that hold the answer alone: the shard key is given by value."""
    key = COLLECTIONS[query.collection].shard_key if query.collection in COLLECTIONS else None
    return key is None or (key in query.filter and not is_range(query.filter[key]))


def is_for_all_shards(query: Query) -> bool:
    """A celebrity's followers are spread on purpose, and what is owed is looked for everywhere."""
    everywhere = {"followeeId", "feedOwed", "countOwed"} & set(query.filter)
    return query.command == "find" and bool(everywhere)


async def test_every_query_of_a_request_goes_to_the_shards_that_hold_the_answer(
    build: OverheardBuild,
) -> None:
    await do_everything(build.app())
    queries = [query for query in build.overheard.queries.values() if not is_for_all_shards(query)]
    sharded = [query for query in queries if query.collection in ("follows", "likes", "comments")]
    assert len(sharded) >= 11
    assert not [query.shape for query in queries if not is_targeted(query)]


def test_a_query_without_the_shard_key_is_noticed() -> None:
    assert not is_targeted(Query("update", "follows", {"_id": "a:b"}, {}))
    assert not is_targeted(Query("find", "comments", {"postId": {"$gt": "a"}}, {}))
    assert is_targeted(Query("find", "likes", {"postId": {"$in": ["a"]}}, {}))


async def test_a_query_without_an_index_is_noticed(build: OverheardBuild) -> None:
    unserved = Query("find", "users", {"name": "x"}, {"createdAt": 1})
    assert not is_ordered_by_an_index(unserved)
    await build.mongo.db["users"].insert_one({"_id": new_id(), "name": "x"})
    assert "COLLSCAN" in await explained(build, unserved, whole=True)


async def test_making_the_indexes_again_changes_nothing(build: OverheardBuild) -> None:
    before = {name: await build.mongo.db[name].index_information() for name in ("follows", "posts")}
    await ensure_schema(build.mongo.db)
    after = {name: await build.mongo.db[name].index_information() for name in ("follows", "posts")}
    assert before == after
