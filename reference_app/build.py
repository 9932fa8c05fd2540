"""The only place that opens connections. A variant of the app is a subclass of `Build` with one part
replaced."""

import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Final, Literal, TypeAlias, get_args

from reference_app.app import App
from reference_app.clock import now_ms, utc
from reference_app.health import Probe
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.stores.kafka.records import LIKES, POSTS
from reference_app.stores.kafka.sink import KafkaSink
from reference_app.stores.kafka.source import KafkaSource
from reference_app.stores.mongo.comments import MongoComments, MongoMedia
from reference_app.stores.mongo.graph import MongoGraph
from reference_app.stores.mongo.heartbeats import MongoHeartbeats
from reference_app.stores.mongo.likes import MongoLikes
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.posts import MongoPosts
from reference_app.stores.ports import (
    CommentStore,
    CounterCache,
    EventSink,
    FeedCache,
    GraphStore,
    Heartbeats,
    LikeStore,
    MediaStore,
    PostCache,
    PostStore,
)
from reference_app.stores.redis.feeds import RedisFeeds
from reference_app.stores.redis.link import RedisLink
from reference_app.stores.redis.posts import RedisCounters, RedisPosts
from reference_app.workers.consuming import ConsumingWorker, FanOutHandler, LikeHandler
from reference_app.workers.upkeep import UpkeepWorker
from reference_app.workers.worker import Worker

WorkerKind: TypeAlias = Literal["fanout", "likes", "upkeep"]
WORKER_KINDS: Final[tuple[str, ...]] = get_args(WorkerKind)

_LIKE_BATCH: Final = 500
_POST_BATCH: Final = 50


class Build:
    """Makes every part of one process, from its settings. One of a kind for each process and loop.

    Connections are made in the background: a process starts, and says what is missing, without its stores.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.mongo = MongoLink(settings)
        self.redis = RedisLink(settings.redis_url, timeout_s=settings.redis_timeout_s, era=settings.strategy)
        self.kafka = KafkaSink(settings)

    # -- the parts that a variant may replace ------------------------------------------------

    def graph(self) -> GraphStore:
        return MongoGraph(self.mongo)

    def posts(self) -> PostStore:
        return MongoPosts(self.mongo)

    def likes(self) -> LikeStore:
        return MongoLikes(self.mongo, shard_count=self.settings.like_shards)

    def comments(self) -> CommentStore:
        return MongoComments(self.mongo)

    def media(self) -> MediaStore:
        return MongoMedia(self.mongo)

    def heartbeats(self) -> Heartbeats:
        return MongoHeartbeats(self.mongo)

    def feeds(self) -> FeedCache:
        return RedisFeeds(self.redis, size=self.settings.feed_size)

    def bodies(self) -> PostCache:
        return RedisPosts(self.redis)

    def counters(self) -> CounterCache:
        return RedisCounters(self.redis, shard_count=self.settings.like_shards)

    def sink(self) -> EventSink:
        return self.kafka

    def app(self) -> App:
        return App(
            Stores(
                graph=self.graph(),
                posts=self.posts(),
                likes=self.likes(),
                comments=self.comments(),
                media=self.media(),
                heartbeats=self.heartbeats(),
                feeds=self.feeds(),
                bodies=self.bodies(),
                counters=self.counters(),
                sink=self.sink(),
            ),
            self.settings,
        )

    def worker(self, kind: WorkerKind, app: App) -> Worker:
        if kind == "upkeep":
            return UpkeepWorker(app)
        stand_in = UpkeepWorker(app, stands_in=True)
        if kind == "fanout":
            source = KafkaSource(self.settings, POSTS, kind, batch=_POST_BATCH)
            return ConsumingWorker(source, FanOutHandler(app), stand_in)
        source = KafkaSource(self.settings, LIKES, kind, batch=_LIKE_BATCH)
        return ConsumingWorker(source, LikeHandler(app), stand_in)

    # -- connections -----------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def connected(self, *, kafka: bool = True) -> AsyncIterator[App]:
        """The app with its connections being made; closed and flushed at the end."""
        self.redis.start()
        if kafka:
            self.kafka.start()
        try:
            yield self.app()
        finally:
            if kafka:
                await self.kafka.close()
            await self.redis.close()
            await self.mongo.close()

    def probes(self) -> Mapping[str, Probe]:
        """A real write to each store."""
        return {"mongo": self._probe_mongo, "redis": self._probe_redis, "kafka": self.kafka.probe}

    async def _probe_mongo(self) -> None:
        mark = {"$set": {"at": utc(now_ms())}}
        probes = self.mongo.db["probes"]
        await self.mongo.write(probes.update_one({"_id": socket.gethostname()}, mark, upsert=True))

    async def _probe_redis(self) -> None:
        await self.redis.call("SET", "probe", now_ms(), "EX", 60)
