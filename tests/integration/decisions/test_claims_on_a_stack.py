"""The experiments on real stores: they find what is known, and leave nothing behind."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pymongo import AsyncMongoClient
from redis.asyncio import Redis

from chaos.claims import catalogue
from chaos.claims.evidence import Claim, Evidence, Opinion
from chaos.claims.ground import Document, Ground
from chaos.claims.trial import put_to_the_test
from compose.embedded.stack import EmbeddedStack
from compose.stack import StackOptions

QUICK = ("fan-out", "replay")
"""Claims whose outcome is beyond doubt on any machine, and which take a few seconds."""
WITHIN_S = 120.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """The stores alone, once for all tests of this module."""
    made = EmbeddedStack.create(
        tmp_path_factory.mktemp("claims"), StackOptions(services_only=True, election_timeout_s=3)
    )
    asyncio.run(made.up())
    yield made
    asyncio.run(made.down())


async def left_behind(stack: EmbeddedStack) -> list[str]:
    """Names of experiments that are still in the stores."""
    mongo: AsyncMongoClient[Document] = AsyncMongoClient(stack.endpoints.mongo_uri)
    async with mongo, Redis.from_url(stack.endpoints.redis_url) as redis:
        databases = [name for name in await mongo.list_database_names() if name.startswith("claims_")]
        keys = [key.decode() async for key in redis.scan_iter(match="claims_*")]
    return databases + keys


@pytest.mark.parametrize("name", QUICK)
async def test_quick_claims_hold_and_leave_nothing(stack: EmbeddedStack, name: str) -> None:
    (claim,) = catalogue.find([name])
    patient = replace(claim, within_s=WITHIN_S)  # tests share the machine with others
    finding = await put_to_the_test(patient, stack.endpoints, seed=1)
    assert finding.opinion is Opinion.HOLDS, finding.reasons
    assert finding.measured or finding.charts
    assert await left_behind(stack) == []


async def test_an_experiment_that_is_cut_short_leaves_nothing(stack: EmbeddedStack) -> None:
    begun = asyncio.Event()

    async def endless(ground: Ground) -> Evidence:
        await ground.followers(10)
        await ground.redis.set(ground.key("mine"), "1")
        await ground.topic("mine")
        begun.set()
        await asyncio.sleep(60)
        return Evidence()

    task = asyncio.create_task(put_to_the_test(Claim("endless", "Never ends", endless), stack.endpoints, 1))
    await asyncio.wait_for(begun.wait(), 30)
    assert await left_behind(stack), "the check would not see what is left"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await left_behind(stack) == []


@pytest.mark.slow
async def test_every_claim_comes_to_an_opinion(stack: EmbeddedStack, tmp_path: Path) -> None:
    for claim in catalogue.CLAIMS:
        finding = await put_to_the_test(claim, stack.endpoints, seed=1)
        assert finding.reasons
        assert finding.opinion in Opinion
        assert await left_behind(stack) == []
