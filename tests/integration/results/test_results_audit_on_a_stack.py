"""Audits of a real embedded stack with the real app: sound first, then with one promise broken in its stores.

One stack serves the whole module. Each tampering is undone, so that the next test finds it sound again.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from pymongo import MongoClient
from pymongo.database import Database

from compose.embedded.stack import EmbeddedStack
from compose.stack import Component, StackOptions
from results import audit
from results.audit import AuditReport
from results.audit.feeds import SETTLING_MS
from results.audit.invariants import INVARIANTS
from results.audit.mongo_reader import MongoReader
from results.audit.redis_reader import RedisReader
from results.audit.state import LikeShards
from results.history import LedgerEntry
from tests.unit.results.histories import SyntheticRun

from .app_client import AppClient

READERS = 8


@dataclass
class Scene:
    """What was written to the stack, and ways to look at it and to tamper with it."""

    stack: EmbeddedStack
    run: SyntheticRun
    client: AppClient
    author: str
    readers: list[str]
    posts: list[str]
    mongo: Database[dict[str, Any]]
    redis: "redis.Redis"

    def audit(self, *invariants: str, settle_within_s: float = 0.5) -> AuditReport:
        workers = [member for member in self.stack.members if member.component is Component.WORKER]
        endpoints = self.stack.endpoints
        return audit.run(
            self.run.directory,
            mongo_uri=endpoints.mongo_uri,
            redis_url=endpoints.redis_url,
            api=endpoints.api,
            worker_metrics=[f"http://{worker.address}/metrics" for worker in workers],
            invariants=invariants,
            settle_within_s=settle_within_s,
        )

    def broken(self) -> set[str]:
        report = self.audit()
        assert report.error == ""
        return {finding.invariant for finding in report.findings if finding.ok is False}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("audit")
    stack = EmbeddedStack.create(folder / "home", StackOptions(election_timeout_s=2))
    asyncio.run(stack.up())
    mongo: MongoClient[dict[str, Any]] = MongoClient(stack.endpoints.mongo_uri)
    store = redis.Redis.from_url(stack.endpoints.redis_url)
    try:
        run = SyntheticRun(folder / "run")
        run.info.started_at = datetime.now(UTC).isoformat()
        client = AppClient(stack.endpoints.api[0])
        yield _written(Scene(stack, run, client, "", [], [], mongo["feedstorm"], store))
    finally:
        mongo.close()
        store.close()
        asyncio.run(stack.down())


def _written(scene: Scene) -> Scene:
    """An author with followers who read, like and comment; one of them leaves another author."""
    client = scene.client
    scene.author, other = client.user("author"), client.user("other")
    scene.readers = [client.user(f"reader {i}") for i in range(READERS)]
    for reader in scene.readers:
        client.follow(reader, scene.author)
        client.feed(reader)
    client.follow(scene.readers[0], other)
    client.post(other, "soon gone")
    client.unfollow(scene.readers[0], other)
    time.sleep(SETTLING_MS / 1000 + 0.1)  # what is posted at the moment of a follow may be shown or not
    scene.posts = [client.post(scene.author, f"post {i}") for i in range(5)]
    for reader in scene.readers:
        client.like(reader, scene.posts[0])
        client.comment(reader, scene.posts[1], "hello")
    client.unlike(scene.readers[0], scene.posts[0])
    scene.run.ledger = client.ledger
    scene.run.usual_course().history()
    return scene


def test_a_sound_stack_keeps_every_invariant(scene: Scene) -> None:
    report = scene.audit(settle_within_s=30)
    assert report.error == ""
    undecided = {finding.invariant for finding in report.findings if finding.ok is None}
    assert {finding.invariant: finding.text for finding in report.findings if finding.ok is False} == {}
    assert undecided == {"no_refused_write_applied"}
    assert (report.lost, report.duplicated, report.acknowledged) == (0, 0, len(scene.client.ledger))
    assert report.caught_up
    assert report.sample["feeds"] == READERS
    assert audit.read(scene.run.directory) == report


def lose_a_post(scene: Scene) -> Callable[[], object]:
    post = scene.mongo.posts.find_one_and_delete({"_id": scene.posts[2]})
    assert post is not None
    return lambda: scene.mongo.posts.insert_one(post)


def count_a_like_twice(scene: Scene) -> Callable[[], object]:
    post = {"_id": scene.posts[0]}
    scene.mongo.posts.update_one(post, {"$inc": {"likeCount": 1}})
    return lambda: scene.mongo.posts.update_one(post, {"$inc": {"likeCount": -1}})


def count_a_follower_too_few(scene: Scene) -> Callable[[], object]:
    user = {"_id": scene.author}
    scene.mongo.users.update_one(user, {"$inc": {"followerCount": -1}})
    return lambda: scene.mongo.users.update_one(user, {"$inc": {"followerCount": 1}})


def forget_a_fan_out(scene: Scene) -> Callable[[], object]:
    feed = f"feed:{scene.readers[3]}"
    score = float(str(scene.redis.zscore(feed, scene.posts[4])))
    scene.redis.zrem(feed, scene.posts[4])
    return lambda: scene.redis.zadd(feed, {scene.posts[4]: score})


def store_a_post_twice(scene: Scene) -> Callable[[], object]:
    post = scene.mongo.posts.find_one({"_id": scene.posts[2]})
    assert post is not None
    twin = post | {"_id": str(uuid4())}
    scene.mongo.posts.insert_one(twin)
    return lambda: scene.mongo.posts.delete_one({"_id": twin["_id"]})


TAMPERINGS: list[tuple[Callable[[Scene], Callable[[], object]], str]] = [
    (lose_a_post, "no_acknowledged_write_lost"),
    (count_a_like_twice, "counters_exact"),
    (count_a_follower_too_few, "counters_exact"),
    (forget_a_fan_out, "every_post_in_every_feed"),
    (store_a_post_twice, "no_write_applied_twice"),
]


@pytest.mark.parametrize(("tamper", "broken"), TAMPERINGS, ids=[tamper.__name__ for tamper, _ in TAMPERINGS])
def test_a_promise_broken_in_the_stores_is_noticed(
    scene: Scene, tamper: Callable[[Scene], Callable[[], object]], broken: str
) -> None:
    undo = tamper(scene)
    try:
        assert broken in scene.broken()
    finally:
        undo()
    assert scene.broken() == set()


def test_a_write_that_was_acknowledged_and_never_stored_is_lost(scene: Scene) -> None:
    ghost = LedgerEntry(90, 90.1, "post", "ok", scene.author, scene.author, "k", str(uuid4()))
    scene.run.ledger = [*scene.client.ledger, ghost]
    scene.run.history()
    try:
        report = scene.audit("no_acknowledged_write_lost")
    finally:
        scene.run.ledger = scene.client.ledger
        scene.run.history()
    assert (report.lost, report.findings[0].ids) == (1, [ghost.id])


def test_rows_read_from_the_stores_are_what_was_written(scene: Scene) -> None:
    with MongoReader(scene.stack.endpoints.mongo_uri, "feedstorm") as mongo:
        posts = {row.id: row for row in mongo.posts()}
        follows = {(row.follower, row.followee): row.active for row in mongo.follows()}
        likes = {(row.post, row.user): row.active for row in mongo.likes()}
    assert set(scene.posts) <= set(posts)
    assert posts[scene.posts[0]].author == scene.author
    assert all(follows[(reader, scene.author)] for reader in scene.readers)
    assert sorted(follows.values()) == [False] + [True] * READERS
    assert sorted(likes.values()) == [False] + [True] * (READERS - 1)


def test_shards_are_summed_and_held_feeds_are_told_from_cold_ones(scene: Scene) -> None:
    with RedisReader(scene.stack.endpoints.redis_url) as reader:
        assert reader.with_feed([*scene.readers, "nobody"]) == set(scene.readers)
        shards = list(reader.like_shards())
    assert all(shard in (LikeShards(scene.posts[0], READERS - 1),) for shard in shards)


def test_a_stack_that_cannot_be_read_is_a_report_with_an_error(scene: Scene, tmp_path: Path) -> None:
    report = audit.run(
        scene.run.directory,
        mongo_uri=scene.stack.endpoints.mongo_uri,
        redis_url="redis://:s3cret@127.0.0.1:9/0",
        invariants=("counters_exact",),
    )
    assert report.error.startswith("could not read like counters from Redis at redis://127.0.0.1:9/0 (")
    assert "s3cret" not in (scene.run.directory / "audit.json").read_text()
    assert report.findings == []


def test_a_name_that_is_no_invariant_is_refused(scene: Scene) -> None:
    with pytest.raises(ValueError, match="did you mean 'counters_exact'"):
        scene.audit("counter_exact")
    assert "counter_exact" not in INVARIANTS
