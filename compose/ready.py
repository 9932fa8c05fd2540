"""Whether a member does its work now. Each probe asks it directly, never through the proxy."""

import http.client
import socket
import struct
from collections.abc import Callable

from compose.embedded.mongo.client import ask_once, split_address
from compose.stack import Component

PROBE_WITHIN_S = 1.0
HTTP_WITHIN_S = 2.0
PROBE_KEY = "feedstorm:ready"


class NotReadyError(Exception):
    """The member answered, and said that it cannot do its work."""


def probe(component: Component, address: str) -> bool:
    """True if the member at this address does its work. Blocks for two seconds at most.

    Raises:
        OSError, NotReadyError: it does not, and this is why.
    """
    return _PROBES[component](address)


def hello(address: str) -> dict[str, object]:
    """What a Mongo member says about its role. Raises OSError."""
    return dict(ask_once(address, {"hello": 1}, within_s=PROBE_WITHIN_S))


def says_primary(address: str) -> bool:
    """Whether the Mongo member at this address says that it is primary. False if it does not answer."""
    try:
        return bool(hello(address).get("isWritablePrimary"))
    except OSError:
        return False


def _mongo(address: str) -> bool:
    """A primary or a secondary, and no matter which."""
    said = hello(address)
    if not (said.get("isWritablePrimary") or said.get("secondary")):
        raise NotReadyError("it is neither primary nor secondary yet")
    return True


def _store(address: str) -> bool:
    return ask_once(address, {"ping": 1}, within_s=PROBE_WITHIN_S).get("ok") == 1.0


def _redis(address: str) -> bool:
    """A real write: a server that is still loading, or out of memory, answers a ping all the same."""
    commands = f"PING\r\nSET {PROBE_KEY} 1 EX 1\r\n".encode()
    with socket.create_connection(split_address(address), timeout=PROBE_WITHIN_S) as connection:
        connection.sendall(commands)
        with connection.makefile("rb") as replies:
            answers = [replies.readline().decode(errors="replace").strip() for _ in range(2)]
    if answers != ["+PONG", "+OK"]:
        raise NotReadyError(f"it answered {' '.join(answers)}")
    return True


def _kafka(address: str) -> bool:
    """A Metadata request (version 1, no topics) that names at least one broker."""
    api_key, version, correlation, no_topics = 3, 1, 1, 0
    client = b"feedstorm"
    request = struct.pack(
        f">hhih{len(client)}si", api_key, version, correlation, len(client), client, no_topics
    )
    with socket.create_connection(split_address(address), timeout=PROBE_WITHIN_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as replies:
            head = replies.read(12)  # size, correlation id, number of brokers
    if len(head) < 12:
        raise NotReadyError("it closed the connection")
    if struct.unpack(">iii", head)[2] < 1:
        raise NotReadyError("it knows no broker yet")
    return True


def _http(path: str) -> Callable[[str], bool]:
    def get(address: str) -> bool:
        connection = http.client.HTTPConnection(*split_address(address), timeout=HTTP_WITHIN_S)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            body = reply.read(500).decode(errors="replace")
        except http.client.HTTPException as error:
            raise NotReadyError(f"GET {path}: {type(error).__name__}") from error
        finally:
            connection.close()
        if reply.status != http.client.OK:
            raise NotReadyError(f"GET {path} answered {reply.status} {' '.join(body.split())}")
        return True

    return get


_PROBES: dict[Component, Callable[[str], bool]] = {
    Component.MONGO: _mongo,
    Component.STORE: _store,
    Component.REDIS: _redis,
    Component.KAFKA: _kafka,
    Component.PROXY: _http("/version"),
    Component.API: _http("/readyz"),
    Component.WORKER: _http("/readyz"),
}
