"""A whole embedded stack, and the app on it as its users see it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from compose.embedded.stack import EmbeddedStack
from compose.stack import StackOptions
from tests.integration.reference_app.town import SETTINGS, Town


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """One stack for all tests here: every test leaves it whole."""
    options = StackOptions(
        through_proxy=False, election_timeout_s=2.0, api_instances=2, app_env=dict(SETTINGS)
    )
    stack = EmbeddedStack.create(tmp_path_factory.mktemp("stack"), options)
    asyncio.run(stack.up())
    try:
        yield stack
    finally:
        asyncio.run(stack.down())


@pytest.fixture
async def town(stack: EmbeddedStack) -> AsyncIterator[Town]:
    async with Town.of(stack) as town:
        yield town
        await town.mend()
