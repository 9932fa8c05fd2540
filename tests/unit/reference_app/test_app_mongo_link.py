"""The driver is never cancelled, however short the patience of its caller."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from reference_app.errors import StoreRefusedError, StoreUncertainError
from reference_app.settings import Settings
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
