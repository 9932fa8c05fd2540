"""The whole embedded stack: up, found again, acted on, down - and what happens when it does not come up."""

import asyncio
import dataclasses
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import psutil
import pytest
import pytest_asyncio
import redis
from pymongo import MongoClient

from compose.embedded.parts import Parts, find_parts
from compose.embedded.ports import bound, free_ports
from compose.embedded.stack import EmbeddedStack
from compose.embedded.state import StackFile
from compose.stack import Component, StackError, StackOptions, State
from compose.waiting import wait_until

OPTIONS = StackOptions(election_timeout_s=3, app_module="tests.integration.compose.fake_app")
SERVICES = dataclasses.replace(OPTIONS, services_only=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedStack]:
    made = EmbeddedStack.create(tmp_path_factory.mktemp("stack") / "home", OPTIONS)
    await made.up()
    try:
        yield made
    finally:
        await made.down()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def pids(home: Path) -> list[int]:
    record = StackFile(home).read()
    return [member.process.pid for member in record.members if member.process] if record else []


async def test_every_member_runs_and_does_its_work(stack: EmbeddedStack) -> None:
    assert {member.name for member in stack.members} >= {
        *("store", "mongo1", "mongo2", "mongo3", "redis", "kafka", "proxy", "api1", "api2"),
        *("worker-fanout1", "worker-fanout2", "worker-likes1", "worker-likes2", "worker-upkeep"),
    }
    assert {stack.control.state(member.name) for member in stack.members} == {State.RUNNING}
    await stack.wait_ready(within_s=5)
    assert stack.primary() in ("mongo1", "mongo2", "mongo3")
    assert set(stack.versions()) == {"mongo", "redis", "kafka", "proxy"}
    assert any("replication lag" in limit for limit in stack.limits)


async def test_all_members_listen_on_loopback_only(stack: EmbeddedStack) -> None:
    listening = [
        connection
        for pid in pids(stack.home)
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= len(stack.members)
    assert {connection.laddr.ip for connection in listening} == {"127.0.0.1"}


async def test_clients_of_the_app_reach_servers_only_through_the_proxy(stack: EmbeddedStack) -> None:
    listens = {link.name: link.listen for link in stack.links}
    settings = " ".join(stack.app_env.values())
    for member in stack.members:
        if member.component in (Component.MONGO, Component.REDIS, Component.KAFKA):
            assert str(member.address) not in settings
    with MongoClient[dict[str, Any]](stack.endpoints.mongo_uri) as client:
        client.test.things.insert_one({})
        seen = {f"{host}:{port}" for host, port in client.nodes}
    assert seen == {listens[f"app->mongo{n}"] for n in (1, 2, 3)}
    for api in stack.endpoints.api:
        assert _get(api + "/readyz") == f"redis://{listens['api->redis']}/0"
    worker = next(member for member in stack.members if member.component is Component.WORKER)
    assert _get(f"http://{worker.address}/readyz") == f"redis://{listens['worker->redis']}/0"


def _run_python(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr


def _switch(stack: EmbeddedStack, link: str, *, on: bool) -> None:
    body = b'{"enabled": true}' if on else b'{"enabled": false}'
    with urlopen(f"{stack.endpoints.toxiproxy_url}/proxies/{quote(link)}", body, timeout=5):
        pass


def _get(url: str) -> str:
    with urlopen(url, timeout=5) as reply:
        return str(reply.read().decode())


async def test_another_process_finds_the_stack_and_restarts_a_member(stack: EmbeddedStack) -> None:
    port = next(member.address for member in stack.members if member.name == "redis")
    life = stack.control.life("redis")
    code = f"""
from pathlib import Path
from typing import Any
from compose.embedded.stack import EmbeddedStack
stack = EmbeddedStack.attach(Path({str(stack.home)!r}))
stack.control.kill("redis")
assert stack.control.state("redis") == "down", stack.control.state("redis")
stack.control.kill("redis")
stack.control.start("redis")
stack.control.start("redis")
"""
    _run_python(code)
    await stack.wait_ready(("redis",), within_s=10)
    again = EmbeddedStack.attach(stack.home)
    assert again
    assert next(member.address for member in again.members if member.name == "redis") == port
    assert again.control.life("redis") != life


@pytest.mark.parametrize("name", ["mongo1", "redis", "proxy", "api1", "worker-likes1"])
async def test_members_are_paused_resumed_killed_and_started(stack: EmbeddedStack, name: str) -> None:
    control = stack.control
    for _ in range(2):
        control.pause(name)
        assert control.state(name) is State.PAUSED
    control.resume(name)
    control.resume(name)
    assert control.state(name) is State.RUNNING
    control.pause(name)
    control.kill(name)  # a paused one dies too
    assert control.state(name) is State.DOWN
    with pytest.raises(StackError, match=f"{name} cannot be paused: it is down"):
        control.pause(name)
    control.resume(name)
    control.start(name)
    await stack.wait_ready((name,), within_s=15)
    control.terminate(name)
    assert control.state(name) is State.DOWN
    control.start(name)
    await stack.wait_ready((name,), within_s=15)


async def test_a_killed_primary_is_replaced_and_rejoins(stack: EmbeddedStack) -> None:
    await stack.wait_ready(within_s=15)
    old = stack.primary()
    assert old
    stack.control.kill(old)
    assert stack.primary() is None
    await wait_until(stack.primary, "another member becoming primary", within_s=10)
    assert stack.primary() != old
    stack.control.start(old)
    await stack.wait_ready((old,), within_s=10)
    assert stack.primary() != old


async def test_a_paused_primary_does_not_hold_up_who_asks(stack: EmbeddedStack) -> None:
    await stack.wait_ready(within_s=15)
    old = stack.primary()
    assert old
    stack.control.pause(old)
    begun = time.monotonic()
    assert stack.primary() != old
    assert time.monotonic() - begun < 1.5
    stack.control.resume(old)
    await stack.wait_ready(within_s=15)


async def test_observers_still_see_a_server_behind_a_cut_link(stack: EmbeddedStack) -> None:
    listen = next(link.listen for link in stack.links if link.name == "api->redis")
    _switch(stack, "api->redis", on=False)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*listen.split(":"))
    with redis.Redis.from_url(stack.endpoints.redis_url) as direct:
        assert direct.ping()
    _switch(stack, "api->redis", on=True)
    with redis.Redis.from_url(f"redis://{listen}") as through:
        assert through.ping()


async def test_a_second_up_says_that_a_stack_is_up(stack: EmbeddedStack) -> None:
    with pytest.raises(StackError, match=r"a stack is already up in .* 14 of its 14 members run"):
        await EmbeddedStack.create(stack.home, SERVICES).up()
    await stack.wait_ready(within_s=15)


async def test_unknown_members_are_gone(stack: EmbeddedStack) -> None:
    assert stack.control.state("mongo9") is State.GONE
    with pytest.raises(StackError, match="no member 'mongo9'"):
        stack.control.kill("mongo9")


async def test_idle_members_need_next_to_no_cpu(stack: EmbeddedStack) -> None:
    watched = [psutil.Process(pid) for pid in pids(stack.home)]
    before = sum(sum(process.cpu_times()[:2]) for process in watched)
    await asyncio.sleep(2)
    used_s = sum(sum(process.cpu_times()[:2]) for process in watched) - before
    assert used_s / 2 < 0.25  # of one core, all members together


async def test_down_kills_whatever_state_members_are_in(tmp_path: Path) -> None:
    stack = EmbeddedStack.create(tmp_path / "home", SERVICES)
    await stack.up()
    running = pids(stack.home)
    stack.control.pause("mongo1")
    stack.control.kill("redis")
    begun = time.monotonic()
    await stack.down()
    assert time.monotonic() - begun < 5
    assert not [pid for pid in running if psutil.pid_exists(pid)]
    assert EmbeddedStack.attach(stack.home) is None
    assert not (stack.home / "data").exists()
    assert (stack.home / "logs" / "redis.log").exists()
    await stack.down()
    assert stack.control.state("redis") is State.GONE


async def test_what_a_dead_stack_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    stack = EmbeddedStack.create(tmp_path / "home", SERVICES)
    await stack.up()
    for member in stack.members:
        stack.control.kill(member.name)
    again = EmbeddedStack.create(tmp_path / "home", SERVICES)
    await again.up()
    await again.down()


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (
            "init",
            r"`tests\.\S+\.fake_app init` ended with status 1; .*init\.log ends with: init: broken",
        ),
        ("worker", r"worker-\w+ ended right after its start; .*\.log ends with: worker: broken on purpose"),
    ],
)
async def test_a_part_that_fails_is_named_and_nothing_is_left(
    tmp_path: Path, breaks: str, message: str
) -> None:
    options = dataclasses.replace(OPTIONS, app_env={"FAKE_APP_BREAKS": breaks})
    stack = EmbeddedStack.create(tmp_path / "home", options)
    with pytest.raises(StackError, match=message) as failure:
        await stack.up()
    assert "\n" not in str(failure.value)
    assert EmbeddedStack.attach(stack.home) is None
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if str(stack.home) in " ".join(p.info["cmdline"] or [])
    ]


async def test_a_part_that_never_gets_ready_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compose.embedded.bringup.APP_WITHIN_S", 6.0)
    options = dataclasses.replace(OPTIONS, app_env={"FAKE_APP_BREAKS": "likes"})
    stack = EmbeddedStack.create(tmp_path / "home", options)
    with pytest.raises(
        StackError, match=r"worker-likes\d becoming ready did not happen .*GET /readyz answered 503"
    ):
        await stack.up()


async def test_a_binary_that_cannot_run_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")

    def parts() -> Parts:
        found = find_parts()
        return dataclasses.replace(found, redis=dataclasses.replace(found.redis, path=str(broken)))

    stack = EmbeddedStack.create(tmp_path / "home", SERVICES, finder=parts)
    with pytest.raises(StackError, match=r"redis cannot be started: .*redis-server: Permission denied"):
        await stack.up()
    broken.chmod(0o755)
    with pytest.raises(StackError, match=r"redis ended right after its start; .*ends with: no such luck"):
        await stack.up()


async def test_a_port_that_was_taken_meanwhile_is_no_obstacle(tmp_path: Path) -> None:
    stack = EmbeddedStack.create(tmp_path / "home", SERVICES)
    taken = next(member.address for member in stack.members if member.name == "redis")
    assert taken
    with bound("127.0.0.1", int(taken.rpartition(":")[2])) as somebody_else:
        somebody_else.listen()
        await stack.up()
    assert next(member.address for member in stack.members if member.name == "redis") != taken
    await stack.down()


async def test_an_up_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    stack = EmbeddedStack.create(tmp_path / "home", SERVICES)
    task = asyncio.create_task(stack.up())
    await wait_until(lambda: pids(stack.home), "a member being started", within_s=10, every_s=0.01)
    running = pids(stack.home)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert EmbeddedStack.attach(stack.home) is None
    assert not [pid for pid in running if psutil.pid_exists(pid)]


async def test_a_down_during_an_up_wins(tmp_path: Path) -> None:
    stack = EmbeddedStack.create(tmp_path / "home", OPTIONS)
    task = asyncio.create_task(stack.up())
    await wait_until(lambda: len(pids(stack.home)) >= 7, "services being started", within_s=10, every_s=0.01)
    other = EmbeddedStack.attach(stack.home)
    assert other
    await other.down()
    with pytest.raises(StackError):
        await task
    assert EmbeddedStack.attach(stack.home) is None


async def test_ports_run_out_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setattr("compose.embedded.ports.LOWEST", port)
    monkeypatch.setattr("compose.embedded.ports.HIGHEST", port + 1)
    with pytest.raises(StackError, match="the stack has no ports to listen on: only 1 of 13 ports are free"):
        EmbeddedStack.create(tmp_path, SERVICES)
