"""Toxiproxy's HTTP API over `Proxies`: paths, bodies, statuses and error bodies as version 2 has them."""

import importlib.metadata
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from compose.embedded.proxy.connection import DOWNSTREAM, UPSTREAM
from compose.embedded.proxy.proxies import BIND_WITHIN_S, Proxies, Proxy, ProxyError, Toxic

T = TypeVar("T")
Handler = Callable[[Proxies, Request], Awaitable[Response]]


class ProxyBody(msgspec.Struct):
    name: str = ""
    listen: str = ""
    upstream: str = ""
    enabled: bool = True


class ProxyChange(msgspec.Struct):
    listen: str | None = None
    upstream: str | None = None
    enabled: bool | None = None


class ToxicBody(msgspec.Struct):
    type: str = ""
    name: str = ""
    stream: str = DOWNSTREAM
    toxicity: float = 1.0
    attributes: dict[str, object] = {}


class ToxicChange(msgspec.Struct):
    toxicity: float | None = None
    attributes: dict[str, object] = {}


async def list_proxies(proxies: Proxies, _request: Request) -> Response:
    return json({name: proxy.as_json() for name, proxy in proxies.all.items()})


async def create_proxy(proxies: Proxies, request: Request) -> Response:
    wanted = await body(request, ProxyBody)
    check_fields(wanted)
    proxy = await proxies.add(wanted.name, listen_of(wanted), wanted.upstream, enabled=wanted.enabled)
    return json(proxy.as_json(), 201)


async def show_proxy(proxies: Proxies, request: Request) -> Response:
    return json(named_proxy(proxies, request).as_json())


async def change_proxy(proxies: Proxies, request: Request) -> Response:
    proxy, change = named_proxy(proxies, request), await body(request, ProxyChange)
    moved = (change.listen or proxy.listen, change.upstream or proxy.upstream)
    was_enabled = proxy.enabled
    if moved != (proxy.listen, proxy.upstream):
        await proxy.disable()
        proxy.listen, proxy.upstream = moved
    if was_enabled if change.enabled is None else change.enabled:
        await proxy.enable(within_s=BIND_WITHIN_S)
    else:
        await proxy.disable()
    return json(proxy.as_json())


async def delete_proxy(proxies: Proxies, request: Request) -> Response:
    await proxies.remove(named_proxy(proxies, request))
    return Response(status_code=204)


async def populate(proxies: Proxies, request: Request) -> Response:
    """Create what is missing, replace what differs, and leave the rest (with its toxics) alone."""
    made: list[Proxy] = []
    try:
        wanted = await body(request, list[ProxyBody])
        for number, one in enumerate(wanted, 1):
            check_fields(one, f" at proxy {number}")
        for one in wanted:
            made.append(await put_proxy(proxies, one))
    except ProxyError as error:
        answer = {"error": str(error), "status": error.status, "proxies": [p.as_json() for p in made] or None}
        return json(answer, error.status)
    return json({"proxies": [proxy.as_json() for proxy in made]}, 201)


async def put_proxy(proxies: Proxies, wanted: ProxyBody, *, within_s: float = 0.0) -> Proxy:
    existing = proxies.all.get(wanted.name)
    if existing:
        if (existing.listen, existing.upstream) == (wanted.listen, wanted.upstream):
            return existing
        await proxies.remove(existing)
    return await proxies.add(
        wanted.name, listen_of(wanted), wanted.upstream, enabled=wanted.enabled, within_s=within_s
    )


async def list_toxics(proxies: Proxies, request: Request) -> Response:
    return json([toxic.as_json() for toxic in named_proxy(proxies, request).toxics.values()])


async def create_toxic(proxies: Proxies, request: Request) -> Response:
    proxy, wanted = named_proxy(proxies, request), await body(request, ToxicBody)
    toxic = Toxic.new(wanted.type, wanted.name, wanted.stream, wanted.toxicity, wanted.attributes)
    proxy.add(toxic)
    return json(toxic.as_json())


async def show_toxic(proxies: Proxies, request: Request) -> Response:
    return json(named_proxy(proxies, request).toxic(request.path_params["toxic"]).as_json())


async def change_toxic(proxies: Proxies, request: Request) -> Response:
    proxy = named_proxy(proxies, request)
    toxic, change = proxy.toxic(request.path_params["toxic"]), await body(request, ToxicChange)
    proxy.change(toxic, change.toxicity, change.attributes)
    return json(toxic.as_json())


async def delete_toxic(proxies: Proxies, request: Request) -> Response:
    proxy = named_proxy(proxies, request)
    proxy.remove(proxy.toxic(request.path_params["toxic"]))
    return Response(status_code=204)


async def reset(proxies: Proxies, _request: Request) -> Response:
    await proxies.reset()
    return Response(status_code=204)


async def version(_proxies: Proxies, _request: Request) -> Response:
    return PlainTextResponse(f"feedstorm-{importlib.metadata.version('feedstorm')}")


async def metrics(proxies: Proxies, _request: Request) -> Response:
    """Bytes by proxy and direction, under the name that Toxiproxy has for them."""
    name = "toxiproxy_proxy_received_bytes_total"
    lines = [f"# TYPE {name} counter"]
    for proxy in proxies.all.values():
        for direction in (UPSTREAM, DOWNSTREAM):
            labels = f'direction="{direction}",listener="{proxy.listen}",proxy="{proxy.name}"'
            lines.append(f'{name}{{{labels},upstream="{proxy.upstream}"}} {proxy.bytes_passed(direction)}')
    return PlainTextResponse("\n".join(lines) + "\n")


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/proxies", list_proxies),
    ("POST", "/proxies", create_proxy),
    ("POST", "/populate", populate),
    ("POST", "/reset", reset),
    ("GET", "/version", version),
    ("GET", "/metrics", metrics),
    ("GET", "/proxies/{proxy}", show_proxy),
    ("POST PATCH", "/proxies/{proxy}", change_proxy),
    ("DELETE", "/proxies/{proxy}", delete_proxy),
    ("GET", "/proxies/{proxy}/toxics", list_toxics),
    ("POST", "/proxies/{proxy}/toxics", create_toxic),
    ("GET", "/proxies/{proxy}/toxics/{toxic}", show_toxic),
    ("POST PATCH", "/proxies/{proxy}/toxics/{toxic}", change_toxic),
    ("DELETE", "/proxies/{proxy}/toxics/{toxic}", delete_toxic),
)


def application(proxies: Proxies) -> Starlette:
    routes = [
        Route(path, _endpoint(proxies, handler), methods=verbs.split()) for verbs, path, handler in ROUTES
    ]
    return Starlette(routes=routes)


def _endpoint(proxies: Proxies, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await handler(proxies, request)
        except ProxyError as error:
            return json({"error": str(error), "status": error.status}, error.status)

    return endpoint


async def body(request: Request, kind: type[T]) -> T:
    """The request's body. Raises ProxyError if it is not what it should be."""
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except msgspec.DecodeError as error:
        raise ProxyError(400, f"bad request body: {error}") from error


def named_proxy(proxies: Proxies, request: Request) -> Proxy:
    return proxies.get(request.path_params["proxy"])


def check_fields(wanted: ProxyBody, where: str = "") -> None:
    for name in ("name", "upstream"):
        if not getattr(wanted, name):
            raise ProxyError(400, f"missing required field: {name}{where}")


def listen_of(wanted: ProxyBody) -> str:
    """Where to listen; on any free port of loopback unless the body says where."""
    return wanted.listen or "127.0.0.1:0"


def json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
