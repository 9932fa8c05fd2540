"""Whatever acts on links keeps one contract: the fake, our own proxy, and Toxiproxy where it can be had."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import requests

from chaos.capabilities import OURS, CanCut, CanDisturb
from chaos.drivers.toxiproxy import ToxiproxyDriver
from chaos.errors import CannotInjectError
from compose.embedded.parts import TOXIPROXY_VARIABLE
from compose.embedded.ports import free_ports
from tests.unit.chaos.fakes import FakeLinks

LINK = "api->redis"
SLOW = f"{OURS}01-latency-abc-latency-downstream"
Links = FakeLinks | ToxiproxyDriver


@contextmanager
def proxy(argv: list[str], port: int, log: Path) -> Iterator[str]:
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output)
    url, listen = f"http://127.0.0.1:{port}", free_ports(1)[0]
    try:
        with requests.Session() as session:
            session.trust_env = False
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=_patient()))
            body = {"name": LINK, "listen": f"127.0.0.1:{listen}", "upstream": "127.0.0.1:9"}
            session.post(f"{url}/proxies", json=body, timeout=5).raise_for_status()
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _patient() -> requests.adapters.Retry:
    return requests.adapters.Retry(total=40, connect=40, backoff_factor=0.05, backoff_max=0.25)


@pytest.fixture(params=["fake", "embedded", "toxiproxy-server"])
def links(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Links]:
    (port,) = free_ports(1)
    if request.param == "fake":
        yield FakeLinks()
        return
    if request.param == "embedded":
        argv = [sys.executable, "-m", "compose.embedded.proxy", "--port", str(port)]
    else:
        path = os.environ.get(TOXIPROXY_VARIABLE) or shutil.which("toxiproxy-server")
        if not path:
            pytest.skip(f"no toxiproxy-server on PATH or in {TOXIPROXY_VARIABLE}")
        argv = [path, "-host", "127.0.0.1", "-port", str(port)]
    with proxy(argv, port, tmp_path / "proxy.log") as url:
        yield ToxiproxyDriver(url)


def test_it_has_the_capabilities(links: Links) -> None:
    assert isinstance(links, CanCut)
    assert isinstance(links, CanDisturb)


def test_cutting_and_mending_are_seen_and_may_be_repeated(links: Links) -> None:
    assert not links.is_cut(LINK)
    for _ in range(2):
        links.cut(LINK)
        assert links.is_cut(LINK)
    for _ in range(2):
        links.mend(LINK)
        assert not links.is_cut(LINK)


def test_toxics_are_put_on_and_taken_off_by_name_and_may_be_repeated(links: Links) -> None:
    for _ in range(2):
        links.add_toxic(LINK, SLOW, "latency", "downstream", {"latency": 200, "jitter": 0})
        assert links.toxics(LINK) == {SLOW}
    for _ in range(2):
        links.remove_toxic(LINK, SLOW)
        assert links.toxics(LINK) == set()


def test_two_toxics_are_undone_one_by_one(links: Links) -> None:
    links.add_toxic(LINK, SLOW, "latency", "downstream", {"latency": 200, "jitter": 0})
    links.add_toxic(LINK, "theirs", "bandwidth", "upstream", {"rate": 10})
    links.remove_toxic(LINK, SLOW)
    assert links.toxics(LINK) == {"theirs"}


# -- what only something that listens can do wrong ------------------------------------------------


def test_a_proxy_that_is_not_there_is_an_error_with_its_name() -> None:
    (port,) = free_ports(1)
    with pytest.raises(CannotInjectError, match=rf"127\.0\.0\.1:{port} failed"):
        ToxiproxyDriver(f"http://127.0.0.1:{port}").cut(LINK)


def test_another_host_is_refused_unless_it_was_allowed() -> None:
    with pytest.raises(CannotInjectError, match=r"--allow-host db\.example"):
        ToxiproxyDriver("http://db.example:8474")
    ToxiproxyDriver("http://db.example:8474", allowed_hosts=("db.example",))


@pytest.mark.parametrize(
    ("answer", "act", "words"),
    [
        (b'{"name": "api->redis", "enabled": true}', lambda driver: driver.cut(LINK), "did not close"),
        (
            b"[]",
            lambda driver: driver.add_toxic(LINK, SLOW, "latency", "downstream", {}),
            "reads back as None",
        ),
    ],
)
def test_a_change_that_is_accepted_and_not_made_is_an_error(
    answer: bytes, act: Callable[[ToxiproxyDriver], None], words: str
) -> None:
    with liar(answer) as url, pytest.raises(CannotInjectError, match=words):
        act(ToxiproxyDriver(url))


def test_a_control_call_that_hangs_is_an_error_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.drivers.toxiproxy._TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        driver = ToxiproxyDriver(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(CannotInjectError, match="failed: ReadTimeout"):
            driver.cut(LINK)


@contextmanager
def liar(answer: bytes) -> Iterator[str]:
    """A server that says the same to everything, with status 200."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(5)
