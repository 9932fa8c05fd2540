"""What workers and their master say to each other, through Locust's own messages.

A process that runs alone sends the same messages to itself.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

REPORT: Final = "feedstorm.report"  # worker -> master, about once a second
DONE: Final = "feedstorm.done"  # worker -> master, after its last report
DRAIN: Final = "feedstorm.drain"  # master -> workers: no more arrivals, finish what is in flight
CUT: Final = "feedstorm.cut"  # master -> workers: drain no longer

_encode = msgspec.json.Encoder().encode


def lines(rows: Iterable[Any]) -> bytes:
    """Rows as JSON lines, without the last line's end."""
    return b"\n".join(map(_encode, rows))


class Report(msgspec.Struct):
    """`sent` and `abandoned` are totals of the worker; the rest are JSON lines to append."""

    worker: str
    sent: int
    abandoned: int
    series: bytes = b""
    staleness: bytes = b""
    ledger: bytes = b""


class Done(msgspec.Struct):
    """`detail` names exceptions of user classes and listeners; "" if there were none."""

    worker: str
    sent: int
    abandoned: int
    detail: str = ""


def pack(message: Report | Done) -> dict[str, Any]:
    """As Locust's messages carry it: plain values."""
    return msgspec.structs.asdict(message)
