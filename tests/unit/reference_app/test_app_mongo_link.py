"""The driver is never cancelled, however short a caller's patience; what is done is never called refused."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.errors import DuplicateKeyError

from reference_app.errors import StoreRefusedError, StoreUncertainError
from reference_app.settings import Settings
from reference_app.stores.mongo.graph import MongoGraph
from reference_app.stores.mongo.link import MongoLink


class Operation:
    """Takes as long as it is let; knows how it ended."""

    def __init__(self) -> None:
        self.may_end, self.over, self.ended = asyncio.Event(), asyncio.Event(), ""

    async def run(self) -> str:
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        self.ended = "by itself"
        self.over.set()
        raise RuntimeError("too late for anybody to hear")


@pytest.fixture
async def link() -> AsyncIterator[MongoLink]:
    link = MongoLink(Settings(), timeout_s=0.05)
    yield link
    await link.close()


async def _ends_by_itself(operation: Operation) -> None:
    assert operation.ended == ""
    operation.may_end.set()
    async with asyncio.timeout(2):
        await operation.over.wait()
    assert operation.ended == "by itself"


async def test_a_write_that_takes_too_long_is_uncertain_and_goes_on(link: MongoLink) -> None:
    operation = Operation()
    with pytest.raises(StoreUncertainError):
        await link.write(operation.run())
    await _ends_by_itself(operation)


async def test_a_read_that_takes_too_long_is_refused_and_goes_on(link: MongoLink) -> None:
    operation = Operation()
    with pytest.raises(StoreRefusedError):
        await link.read(operation.run())
    await _ends_by_itself(operation)


async def test_a_caller_that_is_cancelled_leaves_the_driver_alone(link: MongoLink) -> None:
    operation = Operation()
    caller = asyncio.create_task(link.read(operation.run()))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await _ends_by_itself(operation)


async def test_what_an_earlier_attempt_has_stored_is_not_refused(
    link: MongoLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def finds_it_taken(operation: Coroutine[Any, Any, Any]) -> None:
        operation.close()
        raise DuplicateKeyError("taken")

    async def gets_no_answer(operation: Coroutine[Any, Any, Any]) -> None:
        operation.close()
        raise StoreRefusedError("mongo", "no answer in time")

    monkeypatch.setattr(link, "write", finds_it_taken)
    monkeypatch.setattr(link, "read", gets_no_answer)
    with pytest.raises(StoreUncertainError):
        await link.insert(link.db["posts"], {"_id": "1"})


async def test_following_is_one_command_so_nothing_can_fail_after_it(
    link: MongoLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def changes_it(operation: Coroutine[Any, Any, Any]) -> dict[str, Any]:
        operation.close()
        now = datetime.now(UTC)
        pair = {"_id": "a:b", "followerId": "a", "followeeId": "b"}
        return {**pair, "status": "active", "createdAt": now, "rev": 1}

    async def gets_no_answer(operation: Coroutine[Any, Any, Any]) -> None:
        operation.close()
        raise StoreRefusedError("mongo", "no answer in time")

    monkeypatch.setattr(link, "write", changes_it)
    monkeypatch.setattr(link, "read", gets_no_answer)
    assert await MongoGraph(link).set_following("a", "b", active=True, now_ms=0)
