"""The client that users call: one call is one request, one event, and at most one send."""

import re
import time
from collections.abc import Callable, Container, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from loadtests import outcomes
from loadtests.http.errors import BadAnswer, Broken, ConnectFailed, HttpError
from loadtests.http.pool import Pool
from loadtests.http.response import CaughtResponse, Response
from loadtests.http.traffic import Traffic

Check = Callable[[Response], None]
"""Looks at a good answer before it is counted, and calls `response.wrong(...)` if it is not right."""

_WALL_S: Final = time.time() - time.monotonic()  # Locust wants to know when an op began by the wall clock
_ID_SEGMENT: Final = re.compile(
    r"/(?:\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-fA-F]{16,})(?=/|$)"
)


def template_of(path: str) -> str:
    """A name for requests that were given none: the path without its query, ids replaced by `{id}`."""
    return _ID_SEGMENT.sub("/{id}", path.partition("?")[0])


class HttpClient:
    """`get`, `post`, `put`, `patch`, `delete`, `head` and `request`, with Locust's `name=`, `context=`
    and `catch_response=`.

    Errors do not raise: they are in the response's `error` and `verdict`, and in Locust's statistics.
    Set `intended` to the instant at which the next op was meant to start, and its latency counts
    from there.
    """

    def __init__(self, pool: Pool, fire: Callable[..., None], traffic: Traffic, user: str = "") -> None:
        self.pool, self.traffic, self.user = pool, traffic, user
        self.headers: dict[str, str] = {}
        self.intended: float | None = None
        self.read_timeout_s = 5.0
        self.context: Callable[[], Mapping[str, Any]] | None = None
        self._fire = fire

    def request(
        self,
        method: str,
        url: str,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        data: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        context: Mapping[str, Any] | None = None,
        catch_response: bool = False,
        expect: Container[int] = (),
        check: Check | None = None,
    ) -> Any:
        """Send one request and count it: a Response, or with `catch_response` a CaughtResponse.

        `url` is a path. `expect` are error statuses that are right answers here. `timeout` is in
        seconds, from the send to the end of the answer.
        """
        if params:
            url = f"{url}{'&' if '?' in url else '?'}{urlencode(params)}"
        body = orjson.dumps(json) if json is not None else data.encode() if isinstance(data, str) else data
        if body is None and method not in outcomes.READS:
            body = b""  # said, so that nobody waits for it
        kind = CaughtResponse if catch_response else Response
        response = kind(method, name or template_of(url), url, self.user)
        self._send(response, self._head(headers, body, is_json=json is not None), body or b"", timeout)
        if response.error is None or response.status_code:
            self._judge(response, expect, check)
        if isinstance(response, CaughtResponse):
            return response.counted_by(lambda caught: self._count(caught, context))
        self._count(response, context)
        return response

    def get(self, url: str, **options: Any) -> Any:
        return self.request("GET", url, **options)

    def post(self, url: str, data: bytes | str | None = None, json: Any = None, **options: Any) -> Any:
        return self.request("POST", url, data=data, json=json, **options)

    def put(self, url: str, data: bytes | str | None = None, **options: Any) -> Any:
        return self.request("PUT", url, data=data, **options)

    def patch(self, url: str, data: bytes | str | None = None, **options: Any) -> Any:
        return self.request("PATCH", url, data=data, **options)

    def delete(self, url: str, **options: Any) -> Any:
        return self.request("DELETE", url, **options)

    def head(self, url: str, **options: Any) -> Any:
        return self.request("HEAD", url, **options)

    # -- one request, step by step -----------------------------------------------------------

    def _head(self, headers: Mapping[str, str] | None, body: bytes | None, *, is_json: bool) -> str:
        """Header lines, without those that depend on the instance."""
        lines = ""
        for mapping in (self.headers, headers):
            if mapping:
                lines += "".join([f"{name}: {value}\r\n" for name, value in mapping.items()])
        if is_json:
            lines += "Content-Type: application/json\r\n"
        return lines if body is None else f"{lines}Content-Length: {len(body)}\r\n"

    def _send(self, response: Response, head: str, body: bytes, timeout: float | None) -> None:
        """Take a connection, send once, wait for the answer. Fills in the response; raises only a kill."""
        scheduled, self.intended = self.intended, None
        response.sent_at = now = time.monotonic()
        response.scheduled = scheduled is not None
        response.intended = now if scheduled is None else scheduled
        traffic = self.traffic
        traffic.begin(None if scheduled is None else now - scheduled)
        try:
            self._exchange(response, head, body, timeout or self.read_timeout_s)
        except BaseException:  # killed at the end of the run
            traffic.abandon()
            raise
        response.ended_at = now = time.monotonic()
        response.spoiled = traffic.is_spoiled(response.sent_at, now)
        if response.spoiled:
            traffic.abandon()
        else:
            traffic.in_flight -= 1

    def _exchange(self, response: Response, head: str, body: bytes, timeout_s: float) -> None:
        try:
            instance, connection, response.failover = self.pool.take()
        except ConnectFailed as error:
            response.error = error
            response.verdict = outcomes.of_break(response.method, str(error), sent=False)
            return
        start = f"{response.method} {instance.prefix}{response.url} HTTP/1.1\r\n{instance.head}{head}\r\n"
        try:
            answer = connection.exchange(start.encode("latin-1") + body, timeout_s)
        except Broken as error:
            connection.close()
            response.error = error
            response.verdict = outcomes.of_break(response.method, str(error), sent=True)
        except BaseException:
            connection.close()
            raise
        else:
            response.status_code, response.raw_headers, response.content = answer
            self.pool.give_back(instance, connection)

    def _judge(self, response: Response, expect: Container[int], check: Check | None) -> None:
        status = response.status_code
        if status >= 400:
            response.verdict = outcomes.of_answer(
                response.method,
                status,
                retry_after=response.header(b"retry-after") is not None,
                expected=expect,
            )
            if response.verdict is not outcomes.OK:
                response.error = BadAnswer(response.verdict.why)
        elif check is not None:
            check(response)

    def _count(self, response: Response, context: Mapping[str, Any] | None) -> None:
        """Fire Locust's request event: `context` has the intended start and the time from the send."""
        if response.spoiled:
            return
        intended, ended = response.intended, response.ended_at
        details: dict[str, Any] = {"intended": intended, "service_ms": (ended - response.sent_at) * 1000}
        if self.context is not None:
            details.update(self.context())
        if context:
            details.update(context)
        self._fire(
            request_type=response.method,
            name=response.name,
            response_time=(ended - intended) * 1000,
            response_length=len(response.content),
            exception=response.error,
            context=details,
            start_time=_WALL_S + intended,
            url=response.url,
            response=response,
        )


__all__ = ["Check", "HttpClient", "HttpError", "template_of"]
