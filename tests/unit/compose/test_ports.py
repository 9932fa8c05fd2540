import asyncio
import random
import socket

import pytest

from compose.embedded import ports
from compose.embedded.ports import NoFreePortError, bound, free_ports, is_free, listen


def test_free_ports_are_different_free_and_out_of_the_way() -> None:
    found = free_ports(50)
    assert len(set(found)) == 50
    assert all(20_000 <= port < 32_000 for port in found)
    assert all(map(is_free, found))


def test_a_port_with_a_listener_is_not_free_and_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = sorted(free_ports(2, random.Random(3)))
    monkeypatch.setattr(ports, "LOWEST", first)
    monkeypatch.setattr(ports, "HIGHEST", first + 2)
    with bound("127.0.0.1", first) as taken:
        taken.listen()
        assert not is_free(first)
        assert first not in _as_many_as_there_are()
    assert second != first


def _as_many_as_there_are() -> list[int]:
    try:
        return free_ports(1)
    except NoFreePortError:
        return []


def test_too_few_ports_are_an_error_that_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setattr(ports, "LOWEST", port)
    monkeypatch.setattr(ports, "HIGHEST", port + 1)
    with pytest.raises(NoFreePortError, match=f"only 1 of 2 ports are free between {port} and {port + 1}"):
        free_ports(2)


async def test_listen_waits_until_the_port_is_free() -> None:
    (port,) = free_ports(1)
    taken = bound("127.0.0.1", port)
    taken.listen()
    waiting = asyncio.create_task(listen("127.0.0.1", port, within_s=5))
    await asyncio.sleep(0.15)
    assert not waiting.done()
    taken.close()
    with await waiting as sock:
        assert sock.getsockname()[1] == port


async def test_listen_gives_up_after_its_bound() -> None:
    (port,) = free_ports(1)
    with bound("127.0.0.1", port) as taken:
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            await listen("127.0.0.1", port, within_s=0.15)


def test_a_port_with_lingering_connections_is_free() -> None:
    (port,) = free_ports(1)
    with bound("127.0.0.1", port) as server:
        server.listen()
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # closing first leaves TIME_WAIT on this port
        client.close()
    assert is_free(port)
