"""Opaque page cursors: a position in a list, bound to that list, and proof against tampering.

A position is the sort key of the last item of a page, time and id together, so that items that share
a millisecond are neither skipped nor shown twice. It says nothing about where the list is kept: a walk
that began in Redis goes on in Mongo.
"""

import base64
import binascii
import hashlib
import hmac
import struct
import uuid
from typing import Final, NamedTuple

_LAYOUT: Final = struct.Struct(">QI16s")
_DIGEST_BYTES: Final = 6


class Position(NamedTuple):
    """The last item that was shown: `ms` since 1970 and its id; `depth` items were shown up to it."""

    ms: int
    id: str
    depth: int = 0


class CursorError(ValueError):
    """The cursor was not made by us, or was made for another list."""


class Cursors:
    """Writes and reads cursors. All API processes of one stack share `key`."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def write(self, of: str, position: Position) -> str:
        """`of` names the list, e.g. `"feed:<userId>"`: the cursor is good for that list alone."""
        packed = _LAYOUT.pack(position.ms, position.depth, uuid.UUID(position.id).bytes)
        return base64.urlsafe_b64encode(packed + self._digest(of, packed)).decode().rstrip("=")

    def read(self, of: str, cursor: str) -> Position:
        """Raises CursorError."""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise CursorError("is not a cursor") from error
        packed, digest = raw[: _LAYOUT.size], raw[_LAYOUT.size :]
        if len(packed) != _LAYOUT.size or not hmac.compare_digest(digest, self._digest(of, packed)):
            raise CursorError("was not made for this list")
        if self.write(of, position := self._unpack(packed)) != cursor:
            raise CursorError("is not written as it was given out")
        return position

    def _unpack(self, packed: bytes) -> Position:
        ms, depth, id_bytes = _LAYOUT.unpack(packed)
        return Position(ms, str(uuid.UUID(bytes=id_bytes)), depth)

    def _digest(self, of: str, packed: bytes) -> bytes:
        text = of.encode() + b"\0" + packed
        return hashlib.blake2b(text, digest_size=_DIGEST_BYTES, key=self._key, person=b"cursor").digest()
