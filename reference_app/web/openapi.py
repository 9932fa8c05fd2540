"""The OpenAPI document, generated from the route table."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from reference_app.web.params import Param, Schema
from reference_app.web.problems import Problem
from reference_app.web.table import Operation

_ABOUT: Final = {
    400: "Something about the request is wrong; `field` names it.",
    401: "The caller is nobody we know.",
    403: "The caller may not do this.",
    404: "There is no such thing.",
    409: "It is not as asked for, and cannot be: another of this id, or oneself.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    503: "Certainly not done: shed, or a store is not available. `Retry-After` says when to come again.",
    504: "It may have been done: repeat it with the same `Idempotency-Key`.",
}
_ALWAYS: Final = (400, 503, 504)


def openapi_document(operations: Sequence[Operation]) -> dict[str, Any]:
    types: list[type[msgspec.Struct]] = [Problem]
    for operation in operations:
        types += [operation.answer] if operation.body is None else [operation.answer, operation.body]
    _, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Feedstorm reference app",
            "version": "1",
            "description": "A social feed that says how it degrades.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    statuses = sorted({*_ALWAYS, *operation.problems, *((413, 415) if operation.body else ())})
    described: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "summary": operation.summary,
        "parameters": [_parameter(param) for param in operation.params],
        "responses": {
            str(operation.status): {
                "description": operation.summary,
                "content": {"application/json": {"schema": _reference(operation.answer)}},
            },
            **{str(status): _problem(status) for status in statuses},
        },
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(operation.body)}},
        }
    return described


def _parameter(param: Param) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": param.name,
        "in": param.place,
        "required": param.required,
        "schema": param.schema,
    }
    if param.about:
        described["description"] = param.about
    return described


def _problem(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": _ABOUT[status],
        "content": {"application/problem+json": {"schema": _reference(Problem)}},
    }
    if status in (503, 504):
        described["headers"] = {
            "Retry-After": {"required": True, "schema": {"type": "string", "pattern": "^[0-9]+$"}}
        }
    return described


def _reference(struct: type[msgspec.Struct]) -> Schema:
    return {"$ref": f"#/components/schemas/{struct.__name__}"}
