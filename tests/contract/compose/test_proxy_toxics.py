"""What toxics do to real connections, through our own proxy and through the real one."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from compose.embedded.ports import free_ports

NAME = "app->echo"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """A proxy in front of a server that sends everything back; `closed_at` is when its client was gone."""

    def __init__(self, api: httpx.Client, listen: int) -> None:
        self._api, self.listen = api, listen
        self.closed_at = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        self.closed_at = time.monotonic()
        writer.close()

    async def toxic(
        self, kind: str, stream: str = "downstream", toxicity: float = 1.0, **attributes: int
    ) -> None:
        body = {"type": kind, "stream": stream, "toxicity": toxicity, "attributes": attributes}
        reply = await asyncio.to_thread(self._api.post, f"/proxies/{quote(NAME)}/toxics", json=body)
        assert reply.status_code == 200, reply.text

    async def call(self, verb: str, path: str = "", **body: Any) -> None:
        url = f"/proxies/{quote(NAME)}{path}"
        reply = await asyncio.to_thread(self._api.request, verb, url, json=body or None)
        assert reply.status_code < 300, reply.text

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Streams]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.listen)
        try:
            yield reader, writer
        finally:
            writer.close()


@pytest.fixture
async def echo(api: httpx.Client) -> AsyncIterator[Echo]:
    listen, upstream = free_ports(2)
    made = Echo(api, listen)
    server = await asyncio.start_server(made.serve, "127.0.0.1", upstream)
    body = {"name": NAME, "listen": f"127.0.0.1:{listen}", "upstream": f"127.0.0.1:{upstream}"}
    assert (await asyncio.to_thread(api.post, "/proxies", json=body)).status_code == 201
    yield made
    await made.call("DELETE")
    server.close()


async def round_trip(streams: Streams, data: bytes = b"ping") -> float:
    """Send, read it all back, and say how long that took."""
    reader, writer = streams
    begun = time.monotonic()
    writer.write(data)
    assert await asyncio.wait_for(reader.readexactly(len(data)), 10) == data
    return time.monotonic() - begun


async def is_silent(streams: Streams, for_s: float) -> bool:
    try:
        await asyncio.wait_for(streams[0].read(1), for_s)
    except TimeoutError:
        return True
    return False


async def test_without_toxics_bytes_pass_unchanged(echo: Echo) -> None:
    async with echo.connection() as streams:
        assert await round_trip(streams, bytes(range(256)) * 4000) < 2
        assert await round_trip(streams) < 0.2


async def test_closing_one_end_closes_the_other(echo: Echo) -> None:
    async with echo.connection() as streams:
        await round_trip(streams)
    begun = time.monotonic()
    while not echo.closed_at:
        assert time.monotonic() - begun < 2
        await asyncio.sleep(0.01)


async def test_a_server_that_is_down_closes_the_connection(api: httpx.Client, echo: Echo) -> None:
    (nowhere,) = free_ports(1)
    await echo.call("POST", upstream=f"127.0.0.1:{nowhere}")
    async with echo.connection() as (reader, _):
        assert await asyncio.wait_for(reader.read(1), 2) == b""


async def test_latency_holds_up_every_chunk_and_can_be_changed_under_way(echo: Echo) -> None:
    async with echo.connection() as streams:
        await round_trip(streams)
        await echo.toxic("latency", latency=200)
        assert 0.19 < await round_trip(streams) < 0.6
        await echo.call("POST", "/toxics/latency_downstream", attributes={"latency": 20})
        assert 0.015 < await round_trip(streams) < 0.15
        await echo.toxic("latency", "upstream", latency=100)
        assert 0.11 < await round_trip(streams) < 0.5
        await echo.call("DELETE", "/toxics/latency_upstream")
        await echo.call("DELETE", "/toxics/latency_downstream")
        assert await round_trip(streams) < 0.1


async def test_latency_does_not_add_up_over_a_stream(echo: Echo) -> None:
    await echo.toxic("latency", latency=100)
    async with echo.connection() as streams:
        assert 0.09 < await round_trip(streams, b"x" * 1_000_000) < 1.5


async def test_jitter_varies_the_delay_and_keeps_the_order(echo: Echo) -> None:
    await echo.toxic("latency", latency=30, jitter=30)
    async with echo.connection() as (reader, writer):
        sent = b""
        for number in range(20):
            writer.write(chunk := b"%03d" % number)
            sent += chunk
            await asyncio.sleep(0.002)
        assert await asyncio.wait_for(reader.readexactly(len(sent)), 5) == sent


async def test_removing_latency_lets_out_what_was_held(echo: Echo) -> None:
    await echo.toxic("latency", latency=5000)
    async with echo.connection() as (reader, writer):
        writer.write(b"held")
        await asyncio.sleep(0.1)
        await echo.call("DELETE", "/toxics/latency_downstream")
        assert await asyncio.wait_for(reader.readexactly(4), 1) == b"held"


async def test_bandwidth_limits_the_rate(echo: Echo) -> None:
    await echo.toxic("bandwidth", rate=100)  # KB/s
    async with echo.connection() as streams:
        assert 0.4 < await round_trip(streams, b"x" * 50_000) < 0.9


async def test_timeout_drops_everything_and_closes_after_its_time(echo: Echo) -> None:
    await echo.toxic("timeout", timeout=300)
    async with echo.connection() as (reader, writer):
        writer.write(b"lost")
        begun = time.monotonic()
        assert await asyncio.wait_for(reader.read(1), 5) == b""
        assert 0.25 < time.monotonic() - begun < 1


async def test_timeout_without_a_time_is_silence_until_it_is_removed(echo: Echo) -> None:
    async with echo.connection() as streams:
        await round_trip(streams)
        await echo.toxic("timeout", timeout=0)
        streams[1].write(b"lost")
        assert await is_silent(streams, 0.3)
        await echo.call("DELETE", "/toxics/timeout_downstream")
        assert await asyncio.wait_for(streams[0].read(1), 2) == b""  # the stream has a hole: it cannot go on
    async with echo.connection() as streams:
        await round_trip(streams)


async def test_reset_peer_resets(echo: Echo) -> None:
    await echo.toxic("reset_peer", timeout=0)
    async with echo.connection() as (reader, writer):
        writer.write(b"ping")
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(1), 2)


async def test_slow_close_holds_up_the_end_alone(echo: Echo) -> None:
    await echo.toxic("slow_close", "upstream", delay=400)
    async with echo.connection() as streams:
        assert await round_trip(streams) < 0.2
        closed = time.monotonic()
    await asyncio.sleep(0.2)
    assert not echo.closed_at
    while not echo.closed_at:
        assert time.monotonic() - closed < 3
        await asyncio.sleep(0.01)
    assert echo.closed_at - closed > 0.35


async def test_slicer_sends_small_pieces_with_pauses(echo: Echo) -> None:
    await echo.toxic("slicer", average_size=10, size_variation=3, delay=10_000)  # microseconds
    async with echo.connection() as (reader, writer):
        writer.write(b"x" * 100)
        begun = time.monotonic()
        pieces: list[bytes] = []
        while len(b"".join(pieces)) < 100:
            pieces.append(await asyncio.wait_for(reader.read(1000), 5))
        assert len(pieces) >= 5
        assert time.monotonic() - begun > 0.05


async def test_limit_data_closes_after_so_many_bytes(echo: Echo) -> None:
    await echo.toxic("limit_data", bytes=10)
    async with echo.connection() as (reader, writer):
        writer.write(b"0123456789abcdef")
        assert await asyncio.wait_for(reader.read(-1), 2) == b"0123456789"


async def test_toxicity_is_the_share_of_connections(echo: Echo) -> None:
    await echo.toxic("latency", toxicity=0.5, latency=100)
    took_s = []
    for _ in range(24):
        async with echo.connection() as streams:
            took_s.append(await round_trip(streams))
    slow = sum(took > 0.09 for took in took_s)
    assert 4 <= slow <= 20  # one in 2,000 seeds is outside


async def test_a_switched_off_proxy_drops_its_connections_and_refuses_new_ones(echo: Echo) -> None:
    async with echo.connection() as streams:
        await round_trip(streams)
        await echo.call("POST", enabled=False)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(streams[0].read(1), 2) == b""
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", echo.listen)
    await echo.call("POST", enabled=True)
    async with echo.connection() as streams:
        await round_trip(streams)


async def test_a_sender_that_is_not_read_is_held_up(echo: Echo) -> None:
    await echo.toxic("bandwidth", "upstream", rate=1)
    async with echo.connection() as (_, writer):
        writer.write(b"x" * 20_000_000)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 1)
        writer.transport.abort()
