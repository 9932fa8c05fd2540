"""The error tree as problem documents (RFC 9457)."""

import math
from typing import Final

import msgspec

from reference_app.errors import (
    AppError,
    MethodError,
    PoolExhaustedError,
    RequestError,
    ShedError,
    StoreRefusedError,
    StoreUncertainError,
)

PROBLEM_JSON: Final = b"application/problem+json"


class Problem(msgspec.Struct, omit_defaults=True, frozen=True):
    """The body of every error. `field` names the part of the request that is wrong."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None


class ProblemAnswer(msgspec.Struct, frozen=True):
    problem: Problem
    headers: tuple[tuple[bytes, bytes], ...] = ()


_encode = msgspec.json.Encoder().encode


def problem_body(problem: Problem) -> bytes:
    return _encode(problem)


def answer_for(error: AppError) -> ProblemAnswer:
    """What a caller is told. 503: certainly not done. 504: it may have been done; repeat with its key."""
    if isinstance(error, RequestError):
        problem = Problem("about:blank", error.title, error.status, error.detail, error.field)
        if isinstance(error, MethodError):
            return ProblemAnswer(problem, ((b"allow", ", ".join(error.allowed).encode()),))
        return ProblemAnswer(problem)
    if isinstance(error, ShedError):
        return _later(503, "shed", "Shed", str(error), error.retry_after_s)
    if isinstance(error, PoolExhaustedError):
        return _later(503, "pool-exhausted", "Too busy", f"{error}.", error.retry_after_s)
    if isinstance(error, StoreRefusedError):
        return _later(503, f"{error.store}-unavailable", "Not available", f"{error}.", error.retry_after_s)
    if isinstance(error, StoreUncertainError):
        return _later(504, f"{error.store}-uncertain", "Outcome unknown", f"{error}.", error.retry_after_s)
    return ProblemAnswer(Problem("about:blank", "Internal error", 500, "Something is wrong on our side."))


def _later(status: int, kind: str, title: str, detail: str, retry_after_s: float) -> ProblemAnswer:
    problem = Problem(f"urn:feedstorm:{kind}", title, status, detail)
    return ProblemAnswer(problem, ((b"retry-after", str(max(1, math.ceil(retry_after_s))).encode()),))
