"""Runs the operations of one path: reads and checks input, calls the handler, writes the answer.

A plain ASGI callable in place of Starlette's request/response pair: the route table already says everything
about the input, and a feed read would spend more on the wrappers than on itself.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope, Send

from reference_app.app import App
from reference_app.errors import (
    AppError,
    MediaTypeError,
    MethodError,
    RequestError,
    ShedError,
    TooLargeError,
)
from reference_app.metrics import RequestMetrics
from reference_app.web.problems import PROBLEM_JSON, ProblemAnswer, answer_for, problem_body
from reference_app.web.table import Call, Operation, Raw

log = logging.getLogger(__name__)

MAX_BODY: Final = 64 * 1024
_JSON: Final = b"application/json"
_encode = msgspec.json.Encoder().encode

Headers = list[tuple[bytes, bytes]]


class Endpoint:
    """All methods of one path."""

    def __init__(self, app: App, operations: Sequence[Operation], metrics: RequestMetrics) -> None:
        self._app, self._metrics = app, metrics
        self._runners = {operation.method: _Runner(operation) for operation in operations}
        self._allowed = tuple(sorted(self._runners))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        runner = self._runners.get(scope["method"])
        if runner is None:
            await send_problem(send, answer_for(MethodError(self._allowed)))
            return
        status = 500
        try:
            call = await runner.read(scope, receive)
            answer = await runner.operation.handler(self._app, call)
            body = answer.body if isinstance(answer, Raw) else _encode(answer)
            status = runner.operation.status
            await send_body(send, status, body, runner.headers)
        except AppError as error:
            problem = answer_for(error)
            status = problem.problem.status
            if isinstance(error, ShedError):
                self._metrics.shed()
            await send_problem(send, problem)
        except Exception:
            log.exception("%s failed", runner.operation.name)
            await send_problem(send, answer_for(AppError()))
        finally:
            self._metrics.observe(runner.operation.name, status, time.perf_counter() - begun)


class _Runner:
    """One operation, with everything about it that can be prepared."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.headers: Headers = [(b"content-type", _JSON), (b"cache-control", operation.cache.encode())]
        self._path = [param for param in operation.params if param.place == "path"]
        self._query = {param.name: param for param in operation.params if param.place == "query"}
        self._header = [
            (param.name.lower().encode(), param) for param in operation.params if param.place == "header"
        ]
        self._decoder = msgspec.json.Decoder(operation.body) if operation.body is not None else None

    async def read(self, scope: Scope, receive: Receive) -> Call:
        """Raises RequestError."""
        values: dict[str, Any] = {}
        path: Mapping[str, str] = scope["path_params"]
        for param in self._path:
            values[param.name] = param.value(path[param.name])
        headers = dict(scope["headers"])
        for name, param in self._header:
            found = headers.get(name)
            values[param.name] = param.value(None if found is None else found.decode("latin-1"))
        if self._query or scope["query_string"]:
            self._read_query(scope["query_string"], values)
        if self._decoder is None:
            return Call(values)
        return Call(values, await self._read_body(headers, receive))

    def _read_query(self, query: bytes, values: dict[str, Any]) -> None:
        given: dict[str, str] = {}
        try:
            pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict") if query else []
        except (UnicodeDecodeError, ValueError) as error:
            raise RequestError("The query is not valid.", field="query") from error
        for name, text in pairs:
            if name not in self._query:
                raise RequestError(f"There is no parameter {name!r} here.", field=name)
            if name in given:
                raise RequestError(f"{name} is given twice.", field=name)
            given[name] = text
        for name, param in self._query.items():
            values[name] = param.value(given.get(name))

    async def _read_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> Any:
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != _JSON:
            raise MediaTypeError("The body must be application/json.", field="Content-Type")
        body = await _whole_body(receive)
        assert self._decoder is not None
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            detail, field = _located(str(error))
            raise RequestError(detail, field=field) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestError("The body is not valid JSON.", field="body") from error


async def _whole_body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError("The body ended too early.", field="body")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY:
            raise TooLargeError(f"The body must be {MAX_BODY} bytes at most.", field="body")
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


def _located(message: str) -> tuple[str, str]:
    """msgspec says "Expected `str`, got `int` - at `$.text`": the sentence, and the field."""
    what, _, place = message.partition(" - at `$")
    field = place.rstrip("`").lstrip(".")
    if not field and "`" in what:  # "Object missing required field `text`": the name is all there is
        field = what.split("`")[1] if "field" in what else "body"
    return f"{field or 'body'}: {what}.", field or "body"


async def send_body(send: Send, status: int, body: bytes, headers: Headers) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, answer: ProblemAnswer) -> None:
    headers = [(b"content-type", PROBLEM_JSON), (b"cache-control", b"no-store"), *answer.headers]
    await send_body(send, answer.problem.status, problem_body(answer.problem), headers)
