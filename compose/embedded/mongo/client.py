"""Asking a MongoDB server something: once with a bound, or again and again over one connection."""

import asyncio
import itertools
import socket
import time
from contextlib import suppress

from compose.embedded.mongo import wire


class StoreLostError(ConnectionError):
    """The store closed the connection, refused it, or did not answer in time."""


def split_address(address: str) -> tuple[str, int]:
    """`"127.0.0.1:21007"` as `("127.0.0.1", 21007)`."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def ask_once(address: str, document: wire.Document, *, within_s: float) -> wire.Document:
    """Run one command (on `admin`, unless it has a `$db`) on one server, and return the reply.

    Raises:
        OSError: nobody answered within `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    with socket.create_connection(split_address(address), timeout=within_s) as connection:
        connection.sendall(wire.message({**document, "$db": document.get("$db", "admin")}, 1))
        frames = wire.Frames()
        while True:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            data = connection.recv(65536)
            if not data:
                raise ConnectionError(f"{address} closed the connection")
            for frame in frames.feed(data):
                return wire.body(frame)


class StoreClient:
    """Commands to the store over one connection, which is made again after it was lost."""

    def __init__(self, address: str, *, within_s: float) -> None:
        self._address, self._within_s = address, within_s
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._ids = itertools.count(1)

    async def ask(self, document: wire.Document) -> wire.Document:
        """Run a command (with its `$db`) and return the reply. Raises StoreLostError."""
        async with self._one_at_a_time:
            answered = False
            try:
                reply = await asyncio.wait_for(self._exchange(document), self._within_s)
                answered = True
                return reply
            except (OSError, EOFError, TimeoutError) as error:
                raise StoreLostError(f"store {self._address}: {error or type(error).__name__}") from error
            finally:
                if not answered:  # also when cancelled: a late reply must not answer the next command
                    self.close()

    async def _exchange(self, document: wire.Document) -> wire.Document:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*split_address(self._address))
        reader, writer = self._streams
        writer.write(wire.message(document, next(self._ids)))
        header = await reader.readexactly(wire.HEADER.size)
        size = wire.HEADER.unpack(header)[0]
        return wire.body(header + await reader.readexactly(size - wire.HEADER.size))

    def close(self) -> None:
        if self._streams is not None:
            with suppress(OSError):
                self._streams[1].close()
            self._streams = None
