"""Whether a member does its work, not merely runs: one question in its own protocol, straight to it."""

import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Callable

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from compose.embedded.mongo.client import ask_once, split_address
from compose.stack import Component, StackError

ASK_S = 1.0
_BODY = 500
_KAFKA_METADATA, _VERSION, _ALL_TOPICS = 3, 1, -1


def hello(address: str, within_s: float = ASK_S) -> dict[str, object]:
    """What a Mongo member says about its role. Raises OSError."""
    return dict(ask_once(address, {"hello": 1}, within_s=within_s))


def _mongo(address: str) -> bool:
    said = hello(address)
    return bool(said.get("isWritablePrimary") or said.get("secondary"))


def _redis(address: str) -> bool:
    host, port = split_address(address)
    with redis.Redis(
        host=host,
        port=port,
        socket_timeout=ASK_S,
        socket_connect_timeout=ASK_S,
        retry=Retry(NoBackoff(), 0),
    ) as client:
        return bool(client.set("feedstorm:ready", 1, px=1000))


def _kafka(address: str) -> bool:
    """A broker that knows the cluster lists at least itself."""
    client = b"feedstorm"
    body = (
        struct.pack(">hhih", _KAFKA_METADATA, _VERSION, 1, len(client))
        + client
        + struct.pack(">i", _ALL_TOPICS)
    )
    with socket.create_connection(split_address(address), timeout=ASK_S) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        head = _exactly(connection, 12)  # size, correlation id, number of brokers
    return int(struct.unpack_from(">i", head, 8)[0]) > 0


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionResetError("closed before it answered")
        data += more
    return data


def _answers_200(path: str) -> Callable[[str], bool]:
    def check(address: str) -> bool:
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=2 * ASK_S) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            with error:
                body = error.read(_BODY).decode(errors="replace")
            raise StackError(f"GET {path} answered {error.code} {body}") from None

    return check


CHECKS: dict[Component, Callable[[str], bool]] = {
    Component.MONGO: _mongo,
    Component.REDIS: _redis,
    Component.KAFKA: _kafka,
    Component.API: _answers_200("/readyz"),
    Component.WORKER: _answers_200("/readyz"),
    Component.PROXY: _answers_200("/version"),
}


def does_its_work(component: Component, address: str) -> bool:
    """True or False, within two seconds.

    Raises:
        OSError, RedisError, StackError: it does not, and this is why.
    """
    return CHECKS[component](address)
