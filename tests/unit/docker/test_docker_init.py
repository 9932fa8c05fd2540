"""The one-shot set-up is safe to repeat, and says in one sentence what keeps it from being done."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from compose.docker import init, replica_set


@pytest.fixture
def toxiproxy() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An address that takes anything as Toxiproxy would, and what was sent there."""
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", received
        server.shutdown()
        thread.join()


async def test_toxiproxy_is_given_every_proxy_of_the_file(
    toxiproxy: tuple[str, list[tuple[str, bytes]]],
) -> None:
    url, received = toxiproxy
    await init.make_proxies(url)
    ((path, body),) = received
    assert path == "/populate"
    assert json.loads(body) == json.loads(init.PROXIES.read_bytes())


async def test_a_toxiproxy_that_never_answers_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init, "_TOXIPROXY_WITHIN_S", 0.2)
    with pytest.raises(
        TimeoutError, match=r"Toxiproxy at http://127.0.0.1:9 taking the proxies did not happen"
    ):
        await init.make_proxies("http://127.0.0.1:9")


def test_links_are_called_by_client_and_server_and_carry_every_store() -> None:
    names = sorted(proxy["name"] for proxy in json.loads(init.PROXIES.read_bytes()))
    mongo = ["app->mongo1", "app->mongo2", "app->mongo3", "app->mongos"]
    assert names == ["api->redis", "app->kafka", *mongo, "worker->redis"]


def test_a_replica_set_is_made_of_the_names_that_its_clients_use() -> None:
    assert replica_set.config("rs0", ["a:1", "b:2"], election_timeout_s=2.5) == {
        "_id": "rs0",
        "members": [{"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:2"}],
        "settings": {"electionTimeoutMillis": 2500},
    }
    assert replica_set.config("c", ["a:1"], configsvr=True)["configsvr"] is True


def test_a_missing_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FEEDSTORM_TOXIPROXY_URL", raising=False)
    assert init.main() == 1
    assert capsys.readouterr().err == "init: 'FEEDSTORM_TOXIPROXY_URL' is not set.\n"
