"""Where an experiment takes place: the stack's stores, under names that nobody else uses.

Everything that an experiment makes carries the ground's name (a Mongo database, Redis keys, Kafka
topics), and all of it is removed when the ground is left, however that happens.
"""

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias
from uuid import UUID

from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import PyMongoError
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent
from redis.asyncio import Redis
from redis.exceptions import RedisError

from chaos.claims.topics import Topic
from compose.stack import Endpoints

Document: TypeAlias = dict[str, Any]
_MONGO_TIMEOUT_MS: Final = 20_000
_REDIS_TIMEOUT_S: Final = 5.0
_BATCH: Final = 1000


class Tally(CommandListener):
    """Counts the commands that really went to Mongo, by name."""

    def __init__(self) -> None:
        self.commands: Counter[str] = Counter()

    def started(self, event: CommandStartedEvent) -> None:
        self.commands[event.command_name] += 1

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass


class Ground:
    """Handed to one experiment. `redis` speaks directly to the server, never through a proxy."""

    def __init__(self, endpoints: Endpoints, seed: int) -> None:
        self.name = f"claims_{secrets.token_hex(4)}"
        self.rng = random.Random(seed)
        self.tally = Tally()
        self.endpoints = endpoints
        self._mongo: AsyncMongoClient[Document] = AsyncMongoClient(
            endpoints.mongo_uri,
            serverSelectionTimeoutMS=3000,
            socketTimeoutMS=_MONGO_TIMEOUT_MS,
            maxPoolSize=64,
            event_listeners=[self.tally],
        )
        self.redis = Redis.from_url(
            endpoints.redis_url, socket_timeout=_REDIS_TIMEOUT_S, socket_connect_timeout=_REDIS_TIMEOUT_S
        )
        self._topics: list[Topic] = []
        self._used: set[str] = set()

    @property
    def mongo(self) -> AsyncDatabase[Document]:
        """A database of this ground's own."""
        self._used.add("mongo")
        return self._mongo[self.name]

    def key(self, *parts: object) -> str:
        """A Redis key of this ground's own."""
        self._used.add("redis")
        return ":".join((self.name, *map(str, parts)))

    def uuid(self) -> str:
        return str(UUID(int=self.rng.getrandbits(128), version=4))

    async def topic(self, what: str) -> Topic:
        """A Kafka topic of this ground's own, with one partition."""
        topic = await Topic.create(self.endpoints.kafka_bootstrap, f"{self.name}-{what}")
        self._topics.append(topic)
        return topic

    async def followers(self, count: int, *, followee: str = "celebrity") -> None:
        """That many documents in `follows`, indexed as the reference model has it, oldest first."""
        follows = self.mongo["follows"]
        await follows.create_index([("followeeId", 1), ("status", 1), ("createdAt", 1), ("_id", 1)])
        for first in range(0, count, _BATCH):
            await follows.insert_many(
                [self.follow(number, followee) for number in range(first, min(first + _BATCH, count))],
                ordered=False,
            )

    def follow(self, number: int, followee: str) -> Document:
        """One relationship; `number` stands for its time."""
        follower = self.uuid()
        return {
            "_id": f"{follower}:{followee}",
            "followerId": follower,
            "followeeId": followee,
            "status": "active",
            "createdAt": number,
            "updatedAt": number,
        }

    async def clear(self) -> None:
        """Remove everything of this ground's name, past single failures, and close the connections."""
        for topic in self._topics:
            await topic.delete()
        if "mongo" in self._used:
            with suppress(PyMongoError):
                await self._mongo.drop_database(self.name)
        if "redis" in self._used:
            with suppress(RedisError):
                await self._clear_redis()
        await self.redis.aclose()
        await self._mongo.close()

    async def _clear_redis(self) -> None:
        keys: list[bytes] = []
        async for key in self.redis.scan_iter(match=f"{self.name}:*", count=_BATCH):
            keys.append(key)
            if len(keys) >= _BATCH:
                await self.redis.unlink(*keys)
                keys.clear()
        if keys:
            await self.redis.unlink(*keys)


@asynccontextmanager
async def ground_on(endpoints: Endpoints, seed: int) -> AsyncIterator[Ground]:
    """A ground for the time of the context; it is cleared even if the experiment is cancelled."""
    ground = Ground(endpoints, seed)
    try:
        yield ground
    finally:
        await asyncio.shield(ground.clear())
