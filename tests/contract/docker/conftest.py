from collections.abc import Iterator

import pytest

from tests.contract.docker import playground
from tests.contract.docker.playground import Playground


@pytest.fixture(params=["fake engine", pytest.param("engine", marks=pytest.mark.docker)], scope="module")
def ground(request: pytest.FixtureRequest) -> Iterator[Playground]:
    if request.param == "fake engine":
        yield from playground.on_the_fake_engine()
        return
    if why := playground.something_is_missing(playground.POLICIES):
        pytest.skip(why)
    yield from playground.on_the_engine()


@pytest.fixture
def everybody_up(ground: Playground) -> Iterator[Playground]:
    yield ground
    for name in ground.names:
        ground.control.resume(name)
        ground.control.start(name)
