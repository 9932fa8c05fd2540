"""However a runner is stopped, nothing that it broke stays broken longer than ten seconds.

Eight ways (INT, INT twice, TERM, HUP, USR1, QUIT, KILL, an exception) x every fault. The fast core is
every way with one fault, and the hardest way with every fault; the whole matrix is `slow`.
"""

import asyncio
import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.drivers.process import ProcessDriver
from chaos.drivers.throttle import Throttles
from chaos.drivers.toxiproxy import ToxiproxyDriver
from chaos.faults import FAULTS
from chaos.leases import LeaseBook
from compose.embedded.stack import EmbeddedStack
from compose.stack import Component, State
from compose.waiting import wait_until

WITHIN_S = 10.0
ON = {
    "kill": "mongo:primary",
    "stop": "redis",
    "restart": "redis",
    "pause": "redis",
    "cpu": "redis",
    "step-down": "mongo:primary",
    "flush": "redis",
    "readonly": "redis",
    **dict.fromkeys(
        ("cut", "latency", "bandwidth", "timeout", "reset", "slicer", "partition"), "link:app->redis"
    ),
}
OPTIONS: dict[str, dict[str, str | int]] = {
    "latency": {"delay": "200ms"},
    "bandwidth": {"rate_kib_per_s": 50},
    "timeout": {"after": "1s"},
}
WAYS: dict[str, list[signal.Signals]] = {
    "INT": [signal.SIGINT],
    "INT twice": [signal.SIGINT, signal.SIGINT],
    "TERM": [signal.SIGTERM],
    "HUP": [signal.SIGHUP],
    "USR1": [signal.SIGUSR1],
    "QUIT": [signal.SIGQUIT],
    "KILL": [signal.SIGKILL],
    "exception": [],
}
ON_CONTAINERS = {"isolate"}  # what a process cannot do; tested on the docker stack
BY_PROXY = ("bandwidth", "timeout", "reset", "slicer", "partition")  # undone just as cut and latency are
HARDEST = [fault for fault in ON if fault != "pause" and fault not in BY_PROXY]
CORE = [*((way, "pause") for way in WAYS), *(("KILL", fault) for fault in HARDEST)]
REST = [pair for pair in itertools.product(WAYS, ON) if pair not in CORE]


def test_every_fault_has_a_place_in_the_matrix() -> None:
    assert set(ON) | ON_CONTAINERS == set(FAULTS)


@pytest.mark.parametrize(("way", "fault"), CORE)
async def test_nothing_stays_broken(way: str, fault: str, services: EmbeddedStack) -> None:
    await check(way, fault, services)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "fault"), REST)
async def test_nothing_stays_broken_in_the_rest_of_the_matrix(
    way: str, fault: str, services: EmbeddedStack
) -> None:
    await check(way, fault, services)


async def test_a_fault_that_somebody_else_heals_is_over(services: EmbeddedStack) -> None:
    with runner(services.home, "pause", raises=False) as process:
        await asyncio.to_thread(wait_for_line, process, "in force")
        healed = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "chaos.cli", "heal", "--home", str(services.home)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert healed.returncode == 0, healed.stderr
        assert await asyncio.to_thread(process.wait, 10) == 0
    assert intact(services)


async def check(way: str, fault: str, services: EmbeddedStack) -> None:
    await fill_redis(services)
    await services.wait_ready(within_s=20)
    with runner(services.home, fault, raises=way == "exception") as process:
        await asyncio.to_thread(wait_for_line, process, "in force")
        for number in WAYS[way]:
            process.send_signal(number)
        stopped_at = time.monotonic()
        await wait_until(lambda: intact(services), f"everything healed after {way}", within_s=WITHIN_S)
        assert time.monotonic() - stopped_at < WITHIN_S
        code = await asyncio.to_thread(process.wait, 10)
    assert code == {"KILL": -signal.SIGKILL, "exception": 1}.get(way, 130)
    await services.wait_ready(within_s=20)


@contextmanager
def runner(home: Path, fault: str, *, raises: bool) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "tests.integration.chaos.by_hand_process", str(home), fault, ON[fault]]
    command += [json.dumps(OPTIONS.get(fault, {})), *(["raise"] if raises else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def wait_for_line(process: "subprocess.Popen[str]", wanted: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == wanted:
            return
    raise AssertionError(f"the runner ended (exit {process.wait()}) before it said '{wanted}'")


def intact(stack: EmbeddedStack) -> bool:
    """No lease open, every process running, every link open and clean, Redis writable."""
    if LeaseBook(stack.home).all():
        return False
    url = stack.endpoints.toxiproxy_url
    assert url is not None
    proxy, members = ToxiproxyDriver(url), ProcessDriver(stack, Throttles(stack.home))
    return (
        all(stack.control.state(member.name) == State.RUNNING for member in stack.members)
        and all(not proxy.is_cut(link.name) and not proxy.toxics(link.name) for link in stack.links)
        and members.accepts_writes("redis")
    )


async def fill_redis(stack: EmbeddedStack) -> None:
    """A flush needs something to lose."""
    address = next(member.address for member in stack.members if member.component == Component.REDIS)
    assert address is not None
    host, port = address.split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"SET a 1\r\n")
    await writer.drain()
    writer.close()
