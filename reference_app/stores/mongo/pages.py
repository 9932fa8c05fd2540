"""Keyset pages: the query for what comes after a position, in the one shape that an index serves whole."""

from typing import Any

from reference_app.clock import utc
from reference_app.stores.mongo.schema import Document


def past(field: str, tie_break: str, ms: int, tie: str, *, newest_first: bool) -> Document:
    """What lies past (ms, tie) in the order of (`field`, `tie_break`).

    The plain range says nothing new, but it is what bounds the index scan; the `$or` alone would not.
    """
    time: Any = utc(ms)
    strict, inclusive = ("$lt", "$lte") if newest_first else ("$gt", "$gte")
    return {
        field: {inclusive: time},
        "$or": [{field: {strict: time}}, {field: time, tie_break: {strict: tie}}],
    }


def direction(newest_first: bool) -> int:
    return -1 if newest_first else 1
