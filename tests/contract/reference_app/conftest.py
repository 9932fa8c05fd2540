"""The services of an embedded stack for these tests, and stores on it that start empty."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from compose.embedded.stack import EmbeddedStack
from compose.stack import StackOptions
from reference_app.build import Build
from reference_app.domain.ids import new_id
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.stores.memory.bundle import MemoryStores
from reference_app.stores.mongo.schema import ensure_schema

SMALL = Settings(like_shards=4, feed_size=20)


@pytest.fixture(scope="package")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of an app on services of its own: MongoDB, Redis and Kafka."""
    home: Path = tmp_path_factory.mktemp("stack")
    options = StackOptions(services_only=True, through_proxy=False, election_timeout_s=2.0)
    stack = EmbeddedStack.create(home, options)
    with ThreadPoolExecutor(1) as thread:  # a loop runs in this one when a test asks for services late
        thread.submit(lambda: asyncio.run(stack.up())).result()
        try:
            yield stack.app_env
        finally:
            thread.submit(lambda: asyncio.run(stack.down())).result()


@pytest.fixture
def real_settings(services: dict[str, str]) -> Settings:
    """Settings of a database of its own."""
    settings = Settings.from_env(services)
    return replace(
        SMALL,
        mongo_uri=settings.mongo_uri,
        redis_url=settings.redis_url,
        kafka_bootstrap=settings.kafka_bootstrap,
        mongo_database=f"test_{new_id()[:8]}",
        mongo_timeout_s=10.0,
        redis_timeout_s=5.0,
    )


@pytest.fixture(params=["memory", "real"])
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    """The stores in memory, and the real ones: both have to pass."""
    if request.param == "memory":
        yield MemoryStores(SMALL)
        return
    build = Build(request.getfixturevalue("real_settings"))
    async with build.connected(kafka=False) as app:
        await ensure_schema(build.mongo.db)
        async with asyncio.timeout(10):
            await build.redis.usable()
        await build.redis.call("FLUSHDB")
        yield app.stores
        await build.mongo.client.drop_database(build.settings.mongo_database)
