from collections.abc import Iterator

import pytest

from compose.docker import cli
from tests.contract.docker.playground import something_is_missing
from tests.integration.docker.running import Running, running


@pytest.fixture(scope="package")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One stack for all tests of this folder; each leaves it as it was."""
    if why := something_is_missing(cli.COMPOSE_FILE):
        pytest.skip(why)
    with running(tmp_path_factory.mktemp("home")) as stack:
        yield stack
