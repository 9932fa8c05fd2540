"""Ids are lower-case UUID strings; what is derived from an idempotency key is the same on every try."""

import re
import uuid
from typing import Final

ID_PATTERN: Final = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

_is_id = re.compile(ID_PATTERN[1:-1]).fullmatch
_NAMESPACE: Final = uuid.UUID("3f0a6d9e-9a55-4f0e-8f65-0c2d5c1f7b11")


def is_id(text: str) -> bool:
    return _is_id(text) is not None


def new_id() -> str:
    return str(uuid.uuid4())


def id_for(kind: str, caller: str, key: str | None) -> str:
    """The id of the thing of this `kind` that `caller` makes under an idempotency key.

    Repeating a request names the same thing again, so that its insert finds the first one in the way.
    Without a key every call names a new thing.
    """
    return str(uuid.uuid5(_NAMESPACE, f"{kind}\0{caller}\0{key}")) if key else new_id()


def pair_id(left: str, right: str) -> str:
    """The id of a relationship's document: both ids joined, so that `_id` alone keeps it unique."""
    return f"{left}:{right}"


def follower_of(pair: str) -> str:
    """The first half of such an id."""
    return pair.partition(":")[0]
