"""Ports of the stack: on loopback, and out of the way of outgoing connections."""

import asyncio
import random
import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
# Below 32768: the kernel takes the ends of outgoing connections from 32768 up, and one that sits on a
# member's port would make the member's next start fail.
LOWEST, HIGHEST = 20_000, 32_000
BIND_RETRY_S = 0.1


class NoFreePortError(Exception):
    """No free port was found, or a port stayed taken."""


def bound(host: str, port: int) -> socket.socket:
    """A socket bound the way servers bind: a port whose last connections still linger is no obstacle."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    try:
        with bound(LOOPBACK, port) as sock:
            sock.listen(1)
    except OSError:
        return False
    return True


def free_ports(count: int, rng: random.Random | None = None) -> list[int]:
    """`count` different ports that are free now, chosen at random. Raises NoFreePortError.

    Somebody else may take one before it is used; whoever starts a server on it has to be ready for that.
    """
    rng = rng or random.Random()
    ports: list[int] = []
    with ExitStack() as held:
        for port in rng.sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
            if len(ports) == count:
                break
            try:
                sock = held.enter_context(bound(LOOPBACK, port))
                sock.listen(1)
            except OSError:
                continue
            ports.append(port)
    if len(ports) < count:
        raise NoFreePortError(f"only {len(ports)} of {count} ports are free between {LOWEST} and {HIGHEST}")
    return ports


async def listen(host: str, port: int, *, within_s: float = 10.0) -> socket.socket:
    """A socket bound to this very port, waiting for it as long as somebody else still holds it.

    Raises:
        OSError: the port was still taken after `within_s` seconds.
    """
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        try:
            return bound(host, port)
        except OSError:
            if asyncio.get_running_loop().time() >= deadline:
                raise
        await asyncio.sleep(BIND_RETRY_S)
