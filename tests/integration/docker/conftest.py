from collections.abc import Iterator

import pytest

from tests.contract.docker.playground import engine_is_missing
from tests.integration.docker.running import Running, running


@pytest.fixture(scope="package")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One stack for all tests of this folder; each leaves it as it was."""
    if why := engine_is_missing():
        pytest.skip(why)
    with running(tmp_path_factory.mktemp("home")) as stack:
        yield stack
