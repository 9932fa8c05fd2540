"""The part of the MongoDB wire protocol that a replica-set member needs: frames, commands, replies."""

import struct
from collections.abc import Iterator
from enum import IntFlag
from typing import Any

import bson

# A BSON document as it travels. Commands and replies have no fixed fields, so this is as typed as it gets.
Document = dict[str, Any]

HEADER = struct.Struct("<iiii")  # size of the whole message, request id, response to, opcode
OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
MAX_MESSAGE_BYTES = 48_000_000
EMPTY_DOCUMENT = memoryview(bson.encode({}))

_INT32 = struct.Struct("<i")
_REPLY_FIELDS = struct.Struct("<iqii")  # flags (8: "await capable"), cursor id, starting from, returned


class Flag(IntFlag):
    """The flag bits of an OP_MSG."""

    CHECKSUM_PRESENT = 1
    MORE_TO_COME = 2
    EXHAUST_ALLOWED = 1 << 16


class ProtocolError(Exception):
    """The peer sent bytes that are no MongoDB message."""


class Frames:
    """Cuts a byte stream into whole messages, header included."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield every message that is complete with `data`. Raises ProtocolError."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        start, end = 0, len(data)
        while end - start >= HEADER.size:
            (size,) = _INT32.unpack_from(data, start)
            if not HEADER.size < size <= MAX_MESSAGE_BYTES:
                raise ProtocolError(f"a message of {size} bytes")
            if end - start < size:
                break
            yield data if size == end and not start else data[start : start + size]
            start += size
        self._rest = data[start:]


def opcode(frame: bytes) -> int:
    return _INT32.unpack_from(frame, 12)[0]  # type: ignore[no-any-return] # struct's are Any


def request_id(frame: bytes) -> int:
    return _INT32.unpack_from(frame, 4)[0]  # type: ignore[no-any-return] # struct's are Any


def flags(frame: bytes) -> Flag:
    """The flags of an OP_MSG frame; bits that this module has no name for are kept."""
    return Flag(_INT32.unpack_from(frame, HEADER.size)[0])


def command(frame: bytes) -> tuple[str, memoryview]:
    """(command name, raw command document) of an OP_MSG frame.

    The document may stand behind the document sequences, so sections are walked, not assumed.
    A frame without one gives `("", an empty document)`.
    """
    position = HEADER.size + 4
    end = len(frame) - (4 if flags(frame) & Flag.CHECKSUM_PRESENT else 0)
    while position < end:
        (size,) = _INT32.unpack_from(frame, position + 1)
        if frame[position] == 0:
            raw = memoryview(frame)[position + 1 : position + 1 + size]
            if raw == EMPTY_DOCUMENT:
                return "", raw
            name_start = position + 6  # behind section kind, document size and the first element's type
            return frame[name_start : frame.index(0, name_start)].decode(), raw
        position += 1 + size
    return "", EMPTY_DOCUMENT


def query_command(frame: bytes) -> Document:
    """The command document of an OP_QUERY frame, which only a legacy handshake still uses."""
    collection_end = frame.index(0, HEADER.size + 4)
    return bson.decode(memoryview(frame)[collection_end + 9 :])


def body(frame: bytes) -> Document:
    """The reply document of an OP_MSG frame."""
    return bson.decode(command(frame)[1])


def message(document: Document, request: int, response_to: int = 0, flag_bits: int = 0) -> bytes:
    """An OP_MSG frame with one document and no sequences."""
    raw = bson.encode(document)
    head = HEADER.pack(HEADER.size + 5 + len(raw), request, response_to, OP_MSG)
    return b"".join((head, _INT32.pack(flag_bits), b"\0", raw))


def legacy_reply(document: Document, request: int, response_to: int) -> bytes:
    """An OP_REPLY frame, the answer to an OP_QUERY."""
    raw = bson.encode(document)
    head = HEADER.pack(HEADER.size + _REPLY_FIELDS.size + len(raw), request, response_to, OP_REPLY)
    return b"".join((head, _REPLY_FIELDS.pack(8, 0, 0, 1), raw))
