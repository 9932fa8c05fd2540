"""`init`: indexes and topics, made once the stores are there."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from kafka.errors import KafkaError
from pymongo.errors import PyMongoError

from reference_app.errors import AppError
from reference_app.settings import Settings, without_password
from reference_app.stores.kafka.client import ensure_topics
from reference_app.stores.kafka.records import TOPICS
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.schema import ensure_schema

_PAUSE_S: Final = 0.5


async def initialise(settings: Settings, *, within_s: float) -> int:
    """Safe to repeat, and to run in several places. Raises AppError if a store does not come in time."""
    deadline = time.monotonic() + within_s
    link = MongoLink(settings)
    try:
        await asyncio.gather(
            _until(deadline, f"mongo at {without_password(settings.mongo_uri)}", lambda: _mongo(link)),
            _until(deadline, f"kafka at {settings.kafka_bootstrap}", lambda: _kafka(settings)),
        )
    finally:
        await link.close()
    return 0


async def _mongo(link: MongoLink) -> None:
    await ensure_schema(link.db)


async def _kafka(settings: Settings) -> None:
    await asyncio.to_thread(ensure_topics, settings, TOPICS)


async def _until(deadline: float, what: str, work: Callable[[], Awaitable[None]]) -> None:
    begun = time.monotonic()
    while True:
        try:
            await work()
            return
        except (PyMongoError, KafkaError, OSError) as error:
            if time.monotonic() + _PAUSE_S > deadline:
                waited = time.monotonic() - begun
                raise AppError(
                    f"{what} could not be used within {waited:.0f} s "
                    f"(last: {type(error).__name__}). Is it up?"
                ) from error
        await asyncio.sleep(_PAUSE_S)
