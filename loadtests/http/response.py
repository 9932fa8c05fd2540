"""The answer to one op, and what was measured about it."""

from types import TracebackType
from typing import Any

import msgspec
import orjson

from loadtests import outcomes
from loadtests.http.errors import BadAnswer, HttpError
from loadtests.outcomes import OK, Verdict


class Response:
    """As from `requests`, with what the op's row needs. Times are of `time.monotonic()`, in seconds.

    `intended` is when the op should have started, `sent_at` when it did, `ended_at` when its answer
    was there. `status_code` is 0 if there was no answer. `failover` says why another instance of the
    API was passed over. `scheduled`: an arrival asked for this op at `intended`; other ops (what a task
    does next, probes, closed loops) are intended at the moment when they are made. `spoiled`: this process
    stood still meanwhile, so the op is not counted.
    """

    __slots__ = (
        "content",
        "ended_at",
        "error",
        "failover",
        "intended",
        "method",
        "name",
        "raw_headers",
        "scheduled",
        "sent_at",
        "spoiled",
        "stale",
        "status_code",
        "url",
        "user",
        "verdict",
    )

    def __init__(self, method: str, name: str, url: str, user: str) -> None:
        self.method, self.name, self.url, self.user = method, name, url, user
        self.status_code = 0
        self.content = b""
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.error: HttpError | None = None
        self.verdict: Verdict = OK
        self.failover = ""
        self.stale = False
        self.scheduled = self.spoiled = False
        self.intended = self.sent_at = self.ended_at = 0.0

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case; the last of repeated headers."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.raw_headers}

    def header(self, name: bytes) -> bytes | None:
        """One header by its lower-case name, without building the whole mapping."""
        for key, value in self.raw_headers:
            if key.lower() == name:
                return value
        return None

    def json(self) -> Any:
        return orjson.loads(self.content)

    def raise_for_status(self) -> None:
        if self.error is not None:
            raise self.error

    def wrong(self, what: str) -> None:
        """The status is good and the content is not: the op has failed."""
        self.verdict = outcomes.wrong_content(what)
        self.error = BadAnswer(self.verdict.why)

    def decode(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        """The body as a checked structure; None, and the op failed, if it is not what the API promises."""
        try:
            return decoder.decode(self.content)
        except (msgspec.DecodeError, msgspec.ValidationError):
            self.wrong("not the structure that the API promises")
            return None


class CaughtResponse(Response):
    """What `catch_response=True` gives: the caller judges the answer before it is counted.

    with client.get("/feed", catch_response=True) as response:
        if not response.json()["items"]:
            response.failure("nothing to see")
    """

    __slots__ = ("_count",)

    def counted_by(self, count: Any) -> "CaughtResponse":
        self._count = count
        return self

    def success(self) -> None:
        """Count the op as ok, whatever its status."""
        self.verdict, self.error = OK, None

    def failure(self, why: object) -> None:
        """Count the op as failed, with the first line of `why` as its category."""
        category = (str(why).strip() or type(why).__name__).splitlines()[0]
        self.verdict = Verdict("failed", category)
        self.error = why if isinstance(why, HttpError) else BadAnswer(category)

    def __enter__(self) -> "CaughtResponse":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """An exception in the block fails the op; it also goes on, apart from failed assertions."""
        if isinstance(error, Exception):
            self.failure(error)
        self._count(self)
        return isinstance(error, AssertionError)
