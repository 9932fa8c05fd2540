"""Does it answer, and how soon? One exchange in a member's own protocol, over a socket of our own.

Proofs look with these: straight at a member to see that it is dead or frozen, and through a link's
proxy to feel what its clients feel. A probe costs one connection and changes nothing.
"""

import socket
import struct
import time

import bson

from compose.stack import Component

_OP_MSG = 2013
_KAFKA_API_VERSIONS = 18
_MAX_PAYLOAD = 30_000  # what a Kafka client id, the only free field of its smallest request, can hold


def answer_time(component: Component, address: str, *, within_s: float, payload_bytes: int = 0) -> float:
    """Seconds from connecting until a whole answer has come.

    `payload_bytes` of filling are sent along (and echoed, where the protocol echoes), for faults
    that only weigh on bulk.

    Raises:
        TimeoutError: connected or not, no whole answer came `within_s`.
        ConnectionError: refused, reset, or closed before the answer.
    """
    host, _, port = address.rpartition(":")
    began = time.monotonic()
    deadline = began + within_s
    with socket.create_connection((host, int(port)), timeout=within_s) as connection:
        connection.settimeout(_left(deadline))
        connection.sendall(_request(component, min(payload_bytes, _MAX_PAYLOAD)))
        received = b""
        while not _is_whole(component, received):
            connection.settimeout(_left(deadline))
            data = connection.recv(65536)
            if not data:
                raise ConnectionResetError(f"{address} closed the connection before it answered")
            received += data
    return time.monotonic() - began


def describe(component: Component, address: str, *, within_s: float = 1.0) -> str:
    """One phrase for a report: "answers in 3 ms", "refuses connections", "does not answer within 1 s"."""
    try:
        return f"answers in {answer_time(component, address, within_s=within_s) * 1000:.0f} ms"
    except ConnectionRefusedError:
        return "refuses connections"
    except TimeoutError:
        return f"does not answer within {within_s:g} s"
    except OSError as error:
        return f"breaks the connection ({type(error).__name__})"


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


def _request(component: Component, payload: int) -> bytes:
    filling = b"x" * payload
    match component:
        case Component.REDIS:
            return b"*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n" % (payload, filling) if payload else b"PING\r\n"
        case Component.MONGO:
            body = b"\0" * 5 + bson.encode({"hello": 1, "$db": "admin", "comment": filling.decode()})
            return struct.pack("<iiii", 16 + len(body), 1, 0, _OP_MSG) + body
        case Component.KAFKA:
            client = filling or b"probe"
            body = struct.pack(">hhih", _KAFKA_API_VERSIONS, 0, 1, len(client)) + client
            return struct.pack(">i", len(body)) + body
        case _:
            return (
                b"GET /healthz HTTP/1.1\r\nHost: probe\r\nConnection: close\r\nX-Filling: %s\r\n\r\n"
                % filling
            )


def _is_whole(component: Component, received: bytes) -> bool:
    match component:
        case Component.REDIS:
            if not received.startswith(b"$"):
                return received.endswith(b"\r\n")
            head, separator, rest = received.partition(b"\r\n")
            return bool(separator) and len(rest) >= int(head[1:]) + 2
        case Component.MONGO:
            return len(received) >= 4 and len(received) >= int(struct.unpack_from("<i", received)[0])
        case Component.KAFKA:
            return len(received) >= 4 and len(received) >= 4 + int(struct.unpack_from(">i", received)[0])
        case _:
            return b"\r\n\r\n" in received
