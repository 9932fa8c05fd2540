"""What the speed of the reference app is measured with: servers on a core, and a generator."""

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Final

import psutil

from compose.embedded.ports import free_ports
from compose.waiting import wait_until

CORES: Final = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]


@contextlib.contextmanager
def process(*command: str, core: int, env: dict[str, str] | None = None) -> Iterator[psutil.Process]:
    """A process on one core for as long as the block runs."""
    started = subprocess.Popen(command, env=dict(os.environ) | (env or {}), stdout=subprocess.DEVNULL)
    try:
        it = psutil.Process(started.pid)
        it.cpu_affinity([core])
        yield it
    finally:
        started.terminate()
        started.wait(20)


def cpu_s(it: psutil.Process) -> float:
    """CPU seconds that a process and its threads have used."""
    times = it.cpu_times()
    return float(times.user + times.system)


async def listening(port: int) -> None:
    async def connects() -> bool:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True

    await wait_until(connects, f"port {port} being listened on", within_s=60)


def one_port() -> int:
    (port,) = free_ports(1)
    return port


async def requests_per_core(
    it: psutil.Process, port: int, request: bytes, *, seconds: float, connections: int = 32
) -> float:
    """Requests that a server answers for each second of its own CPU, whatever else the machine does."""
    stop_at = time.monotonic() + seconds + 0.5
    done = 0
    counting = False

    async def client() -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < stop_at:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 2"), head
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            done += counting
        writer.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(client())
        await asyncio.sleep(0.5)
        counting, before = True, cpu_s(it)
        await asyncio.sleep(seconds)
        used, counted = cpu_s(it) - before, done
        counting = False
    return counted / used


def p99(took: Sequence[float]) -> float:
    return sorted(took)[int(len(took) * 0.99)]
