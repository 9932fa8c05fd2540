"""One stack without the application for all tests of this room: its members are what faults are put on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.embedded.stack import EmbeddedStack
from compose.stack import StackOptions


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """Mongo, Redis, Kafka and the proxy, on real ports, with a short election."""
    home: Path = tmp_path_factory.mktemp("services")
    stack = EmbeddedStack.create(home, StackOptions(election_timeout_s=2.0, services_only=True))
    asyncio.run(stack.up())
    try:
        yield stack
    finally:
        asyncio.run(stack.down())
