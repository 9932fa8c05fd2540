"""A member that is isolated is off every network, and is put back under the names that it had, by anybody."""

from pathlib import Path

import pytest

from chaos.drivers.docker import DockerDriver
from chaos.drivers.throttle import Throttles
from chaos.errors import CannotInjectError
from chaos.faults.base import Evidence
from chaos.faults.isolate import Isolate
from chaos.stacks import arm
from chaos.targets import Target
from compose.docker.control import DockerControl
from compose.docker.record import Record
from compose.docker_stack import DockerStack
from compose.stack import Component
from tests.unit.docker.fake_engine import FakeApi, client_of, redis

NETWORKS = {"shop_data": ["redis", "redis.data"], "shop_app": ["cache"]}


def driver_of(api: FakeApi, home: Path) -> DockerDriver:
    stack = DockerStack(home, Record("shop", ours=True), client_of(api))
    assert isinstance(stack.control, DockerControl)
    return DockerDriver(stack, stack.control, Throttles(home))


def target_of(api: FakeApi, home: Path) -> Target:
    """No address: the fake engine's ports lead nowhere, or to somebody else."""
    return Target("redis", Component.REDIS, driver_of(api, home))


def test_isolating_and_healing_in_another_process(tmp_path: Path) -> None:
    api = FakeApi(redis("shop", networks={name: list(aliases) for name, aliases in NETWORKS.items()}))
    fault, target = Isolate(), target_of(api, tmp_path)
    undo = fault.prepare(target, "lease")
    fault.inject(target, undo)
    assert api.held[0].networks == {}
    assert fault.prove_bites(target, undo).seen
    another = target_of(api, tmp_path)
    fault.heal(another, undo)
    fault.heal(another, undo)
    assert fault.prove_healed(another, undo).seen
    assert {name: sorted(aliases) for name, aliases in api.held[0].networks.items()} == NETWORKS


def test_a_fault_that_was_not_done_has_no_effect(tmp_path: Path) -> None:
    target = target_of(FakeApi(redis("shop")), tmp_path)
    assert Isolate().prove_bites(target, {}) == Evidence(False, "it is on a network")


@pytest.mark.parametrize("status", ["exited", "isolated"])
def test_what_is_down_or_isolated_already_is_left_as_it_is(tmp_path: Path, status: str) -> None:
    api = FakeApi(redis("shop"))
    if status == "isolated":
        api.held[0].networks = {}
    else:
        api.held[0].status = status
    with pytest.raises(CannotInjectError, match="left as it is"):
        Isolate().prepare(target_of(api, tmp_path), "lease")


def test_the_docker_stack_is_armed_with_its_own_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DockerStack, "endpoints", type("", (), {"toxiproxy_url": None}))
    stack = DockerStack(tmp_path, Record("shop", ours=True), client_of(FakeApi(redis("shop"))))
    assert isinstance(arm(stack, tmp_path).members, DockerDriver)
