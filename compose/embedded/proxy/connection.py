"""One connection through a proxy: the client's socket, the server's socket, and a flow each way."""

import asyncio
import random
import socket
import struct
from collections.abc import Callable
from typing import cast

from compose.embedded.proxy.flow import Flow

UPSTREAM, DOWNSTREAM = "upstream", "downstream"
CONNECT_WITHIN_S = 30.0
_LINGER_ZERO = struct.pack("ii", 1, 0)  # closing means a reset


class Connection:
    """A client and the server that it wanted to reach. `opened` and `closed` are told about it once each."""

    def __init__(
        self,
        upstream: tuple[str, int],
        rng: random.Random,
        opened: Callable[["Connection"], None],
        closed: Callable[["Connection"], None],
    ) -> None:
        self.rng = rng
        self.flows: dict[str, Flow] = {}
        self._upstream, self._opened, self._closed = upstream, opened, closed
        self._client, self._server = Side(self, UPSTREAM), Side(self, DOWNSTREAM)
        self._connecting: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def client(self) -> "Side":
        return self._client

    def client_connected(self) -> None:
        """The client is here: read nothing from it until the server is, too."""
        self._client.transport.pause_reading()
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.wait_for(
                loop.create_connection(lambda: self._server, *self._upstream), CONNECT_WITHIN_S
            )
        except (OSError, TimeoutError):
            self._client.transport.close()
            return
        client, server = self._client.transport, self._server.transport
        if client.is_closing():
            server.abort()
            return
        self.flows[UPSTREAM] = Flow(client, server, self.rng, self.reset)
        self.flows[DOWNSTREAM] = Flow(server, client, self.rng, self.reset)
        self._opened(self)
        self._server.join(self.flows[DOWNSTREAM], self.flows[UPSTREAM])
        self._client.join(self.flows[UPSTREAM], self.flows[DOWNSTREAM])
        client.resume_reading()

    def side_lost(self) -> None:
        """One socket is gone, and everything that was still on its way to it."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._connecting:
            self._connecting.cancel()
        for flow in self.flows.values():
            flow.closed()
        self._client.close()
        self._server.close()
        self._closed(self)

    def reset(self) -> None:
        """Tear the connection down so that both ends see a reset."""
        for side in (self._client, self._server):
            side.reset()

    def abort(self) -> None:
        for side in (self._client, self._server):
            side.abort()


class Side(asyncio.Protocol):
    """One socket of a connection. Its flow takes what comes from it; the other one brings the replies."""

    transport: asyncio.Transport

    def __init__(self, connection: Connection, direction: str) -> None:
        self._connection, self._direction = connection, direction
        self._is_open = False
        self._early: list[bytes] = []
        self._flow: Flow | None = None
        self._replies: Flow | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self._is_open = cast(asyncio.Transport, transport), True
        if self._direction == UPSTREAM:
            self._connection.client_connected()

    def join(self, flow: Flow, replies: Flow) -> None:
        self._flow, self._replies = flow, replies
        for chunk in self._early:
            flow.data(chunk)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        if self._flow:
            self._flow.data(data)
        else:
            self._early.append(data)

    def eof_received(self) -> bool:
        """Keep this socket open: what is under way to it may still arrive."""
        if self._flow:
            self._flow.end()
        return self._flow is not None

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False
        self._connection.side_lost()

    def pause_writing(self) -> None:
        if self._replies:
            self._replies.sink_is_full(full=True)

    def resume_writing(self) -> None:
        if self._replies:
            self._replies.sink_is_full(full=False)

    def close(self) -> None:
        if self._is_open:
            self.transport.close()

    def abort(self) -> None:
        if self._is_open:
            self.transport.abort()

    def reset(self) -> None:
        if self._is_open:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            self.transport.abort()
