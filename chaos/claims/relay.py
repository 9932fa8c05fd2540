"""A path to a server that an experiment can cut, without anybody else noticing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_CHUNK = 65536


class Relay:
    """Carries TCP from a free port of this machine to `host:port`, until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._pairs: set[asyncio.StreamWriter] = set()
        self._cut = False
        self.port = 0

    def cut(self) -> None:
        """Break what is open and refuse what comes."""
        self._cut = True
        for writer in list(self._pairs):
            writer.transport.abort()

    def mend(self) -> None:
        self._cut = False

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        both = {writer, server_writer}
        self._pairs |= both
        ways = [
            asyncio.create_task(_pump(reader, server_writer)),
            asyncio.create_task(_pump(server_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._pairs -= both
            for each in both:
                each.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def relay_to(host: str, port: int) -> AsyncIterator[Relay]:
    """A relay for the time of the context."""
    relay = Relay(host, port)
    server = await asyncio.start_server(relay._carry, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        relay.cut()
        server.close()
