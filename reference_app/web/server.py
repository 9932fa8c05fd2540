"""The ASGI applications: the API's, and the small one that each worker shows of itself."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from reference_app.app import App
from reference_app.errors import MethodError, NotFoundError
from reference_app.health import Readiness
from reference_app.metrics import Metrics, RequestMetrics
from reference_app.web.docs import docs_page
from reference_app.web.endpoint import Endpoint, send_body, send_problem
from reference_app.web.openapi import openapi_document
from reference_app.web.problems import answer_for
from reference_app.web.routes import OPERATIONS
from reference_app.web.table import Operation

_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
_JSON = b"application/json"


def api_application(
    app: App, readiness: Readiness, metrics: Metrics, operations: Sequence[Operation] = OPERATIONS
) -> Starlette:
    requests = RequestMetrics(metrics)
    paths: dict[str, list[Operation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, []).append(operation)
    # A literal segment beats a parameter: `/following/count` is tried before `/following/{other}`.
    by_parameters = sorted(paths.items(), key=lambda item: item[0].count("{"))
    routes: list[BaseRoute] = [Route(path, Endpoint(app, some, requests)) for path, some in by_parameters]
    document = msgspec.json.encode(openapi_document(operations))
    page = docs_page(operations).encode()
    return _application(
        [
            *routes,
            *_own_routes(readiness, metrics),
            Route("/openapi.json", _Fixed(document, _JSON)),
            Route("/docs", _Fixed(page, b"text/html; charset=utf-8")),
        ]
    )


def worker_application(readiness: Readiness, metrics: Metrics) -> Starlette:
    return _application(_own_routes(readiness, metrics))


def _application(routes: Sequence[BaseRoute]) -> Starlette:
    application = Starlette(routes=routes)
    application.router.redirect_slashes = False
    application.router.default = _not_found
    return application


def _own_routes(readiness: Readiness, metrics: Metrics) -> list[BaseRoute]:
    async def ready() -> tuple[int, bytes]:
        unusable = await readiness.unusable()
        return (503 if unusable else 200), msgspec.json.encode({"ready": not unusable, "unusable": unusable})

    async def alive() -> tuple[int, bytes]:
        return 200, b'{"alive":true}'

    async def measured() -> tuple[int, bytes]:
        return 200, metrics.text()

    return [
        Route("/healthz", _Simple(alive, _JSON)),
        Route("/readyz", _Simple(ready, _JSON)),
        Route("/metrics", _Simple(measured, _TEXT)),
    ]


class _Simple:
    """A GET without parameters."""

    def __init__(self, answer: Callable[[], Awaitable[tuple[int, bytes]]], content_type: bytes) -> None:
        self._answer, self._headers = (
            answer,
            [(b"content-type", content_type), (b"cache-control", b"no-store")],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await send_problem(send, answer_for(MethodError(("GET",))))
            return
        status, body = await self._answer()
        await send_body(send, status, body, self._headers)


class _Fixed(_Simple):
    def __init__(self, body: bytes, content_type: bytes) -> None:
        async def answer() -> tuple[int, bytes]:
            return 200, body

        super().__init__(answer, content_type)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await send_problem(send, answer_for(NotFoundError("There is nothing at this path.", field="path")))
