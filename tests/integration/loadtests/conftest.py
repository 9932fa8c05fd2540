from collections.abc import Iterator

import pytest

from tests.integration.loadtests.harness import Stub, stub_app


@pytest.fixture
def stub() -> Iterator[Stub]:
    with stub_app() as running:
        yield running
