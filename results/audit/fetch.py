"""Fetches one page over HTTP, once."""

import urllib.error
import urllib.request
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TIMEOUT_S: Final = 5.0

_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is asked directly, whatever proxy the environment names."""
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class RefusedError(Exception):
    """The server says that the question is wrong: asking again changes nothing."""


def fetch(url: str, headers: Mapping[str, str] = _NO_HEADERS, *, within_s: float = TIMEOUT_S) -> bytes:
    """The body of a 200 answer. Raises OSError, or RefusedError for a 4xx (429 is an OSError: it passes)."""
    request = urllib.request.Request(url, headers=dict(headers))
    try:
        with _OPENER.open(request, timeout=within_s) as response:
            body: bytes = response.read()
            return body
    except urllib.error.HTTPError as error:
        error.close()
        refused = 400 <= error.code < 500 and error.code != 429
        raise (RefusedError if refused else OSError)(f"status {error.code}") from error
