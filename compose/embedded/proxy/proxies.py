"""Proxies and their toxics, as the API sees them."""

import asyncio
import random
from dataclasses import dataclass, field

import msgspec

from compose.embedded.mongo.client import split_address
from compose.embedded.ports import listen
from compose.embedded.proxy.connection import DOWNSTREAM, UPSTREAM, Connection
from compose.embedded.proxy.flow import Flow
from compose.embedded.proxy.toxics import KINDS

BIND_WITHIN_S = 10.0


class ProxyError(Exception):
    """A request that cannot be carried out. `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass
class Toxic:
    """A toxic of one proxy. `toxicity` is the share of connections that it applies to."""

    name: str
    kind: str
    stream: str
    toxicity: float
    attributes: msgspec.Struct

    @classmethod
    def new(
        cls, kind: str, name: str, stream: str, toxicity: float, attributes: dict[str, object]
    ) -> "Toxic":
        """Raises ProxyError for an unknown type or stream, or attributes that make no sense."""
        if kind not in KINDS:
            raise ProxyError(400, "invalid toxic type")
        if stream not in (UPSTREAM, DOWNSTREAM):
            raise ProxyError(400, "stream was invalid, can be either upstream or downstream")
        toxic = cls(name or f"{kind}_{stream}", kind, stream, toxicity, KINDS[kind].Attributes())
        toxic.update(None, attributes)
        return toxic

    def update(self, toxicity: float | None, attributes: dict[str, object]) -> None:
        """Change what is given. Flows look at the attributes with every chunk, so it holds at once."""
        known = msgspec.structs.asdict(self.attributes)
        try:
            changed = msgspec.convert({**known, **attributes}, type(self.attributes), strict=False)
        except msgspec.ValidationError as error:
            raise ProxyError(400, f"bad request body: {error}") from error
        for name, value in msgspec.structs.asdict(changed).items():
            setattr(self.attributes, name, value)
        if toxicity is not None:
            self.toxicity = toxicity

    def as_json(self) -> dict[str, object]:
        return {
            "attributes": msgspec.structs.asdict(self.attributes),
            "name": self.name,
            "type": self.kind,
            "stream": self.stream,
            "toxicity": self.toxicity,
        }


@dataclass
class Proxy:
    """A listening port and the server behind it. `passed` counts bytes by direction."""

    name: str
    listen: str
    upstream: str
    seed: int
    enabled: bool = False
    toxics: dict[str, Toxic] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=lambda: {UPSTREAM: 0, DOWNSTREAM: 0})
    _connections: set[Connection] = field(default_factory=set)
    _server: asyncio.Server | None = None
    _accepted: int = 0

    async def enable(self, *, within_s: float = 0.0) -> None:
        """Listen. The port may still be another's for `within_s` seconds. Raises ProxyError."""
        if self.enabled:
            return
        try:
            sock = await listen(*split_address(self.listen), within_s=within_s)
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or error).lower()
            raise ProxyError(500, f"listen tcp {self.listen}: bind: {reason}") from error
        self.listen = "{}:{}".format(*sock.getsockname()[:2])
        self._server = await asyncio.get_running_loop().create_server(self._accept, sock=sock)
        self.enabled = True

    async def disable(self) -> None:
        """Stop listening, and drop every connection."""
        self.enabled = False
        if self._server:
            self._server.close()
            self._server = None
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)  # sockets close in the loop's next round

    def add(self, toxic: Toxic) -> None:
        if toxic.name in self.toxics:
            raise ProxyError(409, "toxic already exists")
        self.toxics[toxic.name] = toxic
        for connection in self._connections:
            self._apply(toxic, connection)

    def change(self, toxic: Toxic, toxicity: float | None, attributes: dict[str, object]) -> None:
        toxic.update(toxicity, attributes)
        for connection in self._connections:
            if toxicity is not None:  # the dice are thrown again
                self._flow(connection, toxic).take_out(toxic.name)
                self._apply(toxic, connection)

    def remove(self, toxic: Toxic) -> None:
        del self.toxics[toxic.name]
        for connection in tuple(self._connections):
            self._flow(connection, toxic).take_out(toxic.name)

    def toxic(self, name: str) -> Toxic:
        if name not in self.toxics:
            raise ProxyError(404, "toxic not found")
        return self.toxics[name]

    def bytes_passed(self, direction: str) -> int:
        return self.passed[direction] + sum(c.flows[direction].bytes for c in self._connections)

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.enabled,
            "toxics": [toxic.as_json() for toxic in self.toxics.values()],
        }

    def _accept(self) -> asyncio.Protocol:
        self._accepted += 1
        rng = random.Random(f"{self.seed}:{self.name}:{self._accepted}")
        return Connection(split_address(self.upstream), rng, self._opened, self._closed).client

    def _opened(self, connection: Connection) -> None:
        if not self.enabled:  # switched off while it was being made
            connection.abort()
            return
        self._connections.add(connection)
        for toxic in self.toxics.values():
            self._apply(toxic, connection)

    def _closed(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            for direction, flow in connection.flows.items():
                self.passed[direction] += flow.bytes

    def _apply(self, toxic: Toxic, connection: Connection) -> None:
        if connection.rng.random() < toxic.toxicity:
            flow = self._flow(connection, toxic)
            flow.put(toxic.name, KINDS[toxic.kind](flow, toxic.attributes))

    @staticmethod
    def _flow(connection: Connection, toxic: Toxic) -> Flow:
        return connection.flows[toxic.stream]


class Proxies:
    """All proxies of a server, by name."""

    def __init__(self, seed: int) -> None:
        self.all: dict[str, Proxy] = {}
        self._seed = seed

    def get(self, name: str) -> Proxy:
        if name not in self.all:
            raise ProxyError(404, "proxy not found")
        return self.all[name]

    async def add(
        self, name: str, address: str, upstream: str, *, enabled: bool, within_s: float = 0.0
    ) -> Proxy:
        """Raises ProxyError if there is one of this name already, or its port is taken."""
        if name in self.all:
            raise ProxyError(409, "proxy already exists")
        proxy = Proxy(name, address, upstream, self._seed)
        if enabled:
            await proxy.enable(within_s=within_s)
        self.all[name] = proxy
        return proxy

    async def remove(self, proxy: Proxy) -> None:
        del self.all[proxy.name]
        await proxy.disable()

    async def reset(self) -> None:
        """Every proxy works again, and without toxics."""
        for proxy in self.all.values():
            await proxy.enable(within_s=BIND_WITHIN_S)
            for toxic in tuple(proxy.toxics.values()):
                proxy.remove(toxic)

    async def close(self) -> None:
        for proxy in tuple(self.all.values()):
            await self.remove(proxy)
