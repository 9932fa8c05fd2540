"""Acts on links through Toxiproxy's HTTP API: the one file that knows `toxiproxy-python`.

That client keeps the server's address in a class, sets no time-out, and takes several failures for
success. So each driver here derives a class of its own, every call is bounded, and every change is
read back: a control call that failed, hung or had no effect is an error.
"""

from typing import Any, Protocol, cast
from urllib.parse import quote, urlsplit

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from chaos.drivers.safety import refuse_strangers
from chaos.errors import CannotInjectError

_TIMEOUT_S = 3.0


class _Answer(Protocol):
    status_code: int
    text: str

    def json(self) -> Any: ...


class ToxiproxyDriver:
    """CanCut, CanDisturb."""

    name = "toxiproxy"

    def __init__(self, url: str, allowed_hosts: tuple[str, ...] = ()) -> None:
        """`url` is Toxiproxy's own address, e.g. `http://127.0.0.1:8474`. Raises CannotInjectError."""
        parts = urlsplit(url)
        host, port = parts.hostname or "127.0.0.1", parts.port or 8474
        refuse_strangers(f"{host}:{port}", allowed_hosts)
        self._where = f"{host}:{port}"
        self._api = type("Api", (APIConsumer,), {"host": host, "port": port})
        self._bounds = {"timeout": _TIMEOUT_S, "proxies": {"no_proxy": host}}

    def cut(self, link: str) -> None:
        self._enable(link, enabled=False)

    def mend(self, link: str) -> None:
        self._enable(link, enabled=True)

    def is_cut(self, link: str) -> bool:
        return not self._proxy(link)["enabled"]

    def add_toxic(self, link: str, toxic: str, kind: str, stream: str, attributes: dict[str, int]) -> None:
        asked = {"name": toxic, "type": kind, "stream": stream, "toxicity": 1.0, "attributes": attributes}
        if toxic not in self.toxics(link):
            self._call("post", f"{_path(link)}/toxics", json=asked)
        got = next((each for each in self._toxics(link) if each["name"] == toxic), None)
        if got is None or any(got["attributes"].get(key) != value for key, value in attributes.items()):
            raise CannotInjectError(
                f"Toxiproxy at {self._where} accepted the toxic {kind} on {link}, and reads back as {got}"
            )

    def remove_toxic(self, link: str, toxic: str) -> None:
        if toxic in self.toxics(link):
            self._call("delete", f"{_path(link)}/toxics/{quote(toxic, safe='')}")
        if toxic in self.toxics(link):
            raise CannotInjectError(
                f"Toxiproxy at {self._where} still holds {toxic} on {link} after removing it"
            )

    def toxics(self, link: str) -> set[str]:
        return {str(each["name"]) for each in self._toxics(link)}

    def _toxics(self, link: str) -> list[dict[str, Any]]:
        return cast(list[dict[str, Any]], self._call("get", f"{_path(link)}/toxics"))

    def _proxy(self, link: str) -> dict[str, Any]:
        return cast(dict[str, Any], self._call("get", _path(link)))

    def _enable(self, link: str, *, enabled: bool) -> None:
        if self._proxy(link)["enabled"] != enabled:
            self._call("post", _path(link), json={"enabled": enabled})
        if self._proxy(link)["enabled"] != enabled:
            raise CannotInjectError(
                f"Toxiproxy at {self._where} did not {'open' if enabled else 'close'} {link}"
            )

    def _call(self, verb: str, path: str, **arguments: Any) -> Any:
        """The decoded answer, None where there is none. Raises CannotInjectError."""
        what = f"{verb.upper()} {path} of Toxiproxy at {self._where}"
        try:
            answer: _Answer = getattr(self._api, verb)(path, **arguments, **self._bounds)
        except (NotFound, ProxyExists, InvalidToxic) as refusal:
            raise CannotInjectError(f"{what} was refused: {_text(refusal)}") from None
        except requests.RequestException as error:
            raise CannotInjectError(
                f"{what} failed: {type(error).__name__}; is the stack still up?"
            ) from None
        if answer.status_code >= 400:
            raise CannotInjectError(f"{what} answered {answer.status_code}: {answer.text[:200]}")
        return answer.json() if answer.text else None


def _path(link: str) -> str:
    return f"/proxies/{quote(link, safe='')}"


def _text(refusal: Exception) -> str:
    said = refusal.args[0] if refusal.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
