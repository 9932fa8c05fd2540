"""A few calls to the API, for commands that are not load: JSON over the standard library, in threads."""

import asyncio
import http.client
import json
from typing import Any, Protocol
from urllib.parse import urlsplit

from chaos.errors import CouldNotRunError

_TIMEOUT_S = 10.0


class Api(Protocol):
    """The API as a command calls it: decoded answers; CouldNotRunError for anything but success."""

    async def get(self, path: str) -> Any: ...

    async def post(self, path: str, body: object, caller: str = "") -> Any: ...

    async def put(self, path: str, caller: str) -> Any: ...


class Client:
    """Calls one instance of the API. A connection for each call: this is not for measuring."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80

    async def get(self, path: str) -> Any:
        return await asyncio.to_thread(self._call, "GET", path, None, "")

    async def post(self, path: str, body: object, caller: str = "") -> Any:
        return await asyncio.to_thread(self._call, "POST", path, body, caller)

    async def put(self, path: str, caller: str) -> Any:
        return await asyncio.to_thread(self._call, "PUT", path, None, caller)

    def _call(self, method: str, path: str, body: object, caller: str) -> Any:
        """The decoded answer. Raises CouldNotRunError for anything but success."""
        headers = {"Content-Type": "application/json", **({"X-User-Id": caller} if caller else {})}
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except OSError as error:
            raise CouldNotRunError(f"{method} {path} on {self._host}:{self._port} failed: {error}") from None
        finally:
            connection.close()
        if answer.status >= 400:
            raise CouldNotRunError(f"{method} {path} was answered {answer.status}: {text[:300]}")
        return json.loads(text) if text else None
