"""What became of an op, told from its answer or from the way it broke. Pure.

Three outcomes: `ok`; `failed`, which for a write means that it was definitely not done; `unknown`,
a write that may have been done. A read is never unknown: reading again does no harm.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from results.history import OutcomeName

READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
REFUSING: Final = frozenset((501, 503))
"""Server errors that say that nothing was done. With any other, something went wrong half way: a 500 may have
been an error after the write, a 502 or 504 comes from somebody who does not know."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, why it is not `ok` (a short category), and whether it was a deliberate 503."""

    outcome: OutcomeName
    why: str = ""
    shed: bool = False


OK: Final = Verdict("ok")


def of_answer(method: str, status: int, *, retry_after: bool, expected: Container[int] = ()) -> Verdict:
    """The outcome of an op that was answered with `status`.

    `expected` are error statuses that are right answers here, e.g. 404 for something just deleted.
    """
    if status < 400 or status in expected:
        return OK
    if status == 503 and retry_after:
        return Verdict("failed", "503 shed", shed=True)
    why = str(status)
    if method in READS or status < 500 or status in REFUSING:
        return Verdict("failed", why)
    return Verdict("unknown", why)


def of_break(method: str, why: str, *, sent: bool) -> Verdict:
    """The outcome of an op whose connection broke or timed out. `sent`: after sending had begun."""
    return Verdict("unknown" if sent and method not in READS else "failed", why)


def wrong_content(what: str) -> Verdict:
    """An answer with a good status and a wrong body: `what` completes "wrong content: ..."."""
    return Verdict("failed", f"wrong content: {what}")
