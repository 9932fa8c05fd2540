"""What the client promises about one request, against servers that misbehave in every way we know.

The server is a thread with plain sockets; the client runs on greenlets in this one.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from compose.embedded.ports import free_ports
from loadtests.http.client import HttpClient, template_of
from loadtests.http.pool import HostError, Pool
from loadtests.http.response import CaughtResponse, Response
from loadtests.http.traffic import Traffic

Script = Callable[[socket.socket, bytes], None]


class Server:
    """Runs `script` for each request that arrives; counts connections and requests."""

    def __init__(self, port: int = 0) -> None:
        self.script: Script = lambda sock, request: sock.sendall(answer(b'{"a":1}'))
        self.requests: list[bytes] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", port))
        self._address = self._listener.getsockname()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._address[1]}"

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            while True:
                try:
                    request = sock.recv(65_536)
                    if not request:
                        return
                    self.requests.append(request)
                    self.script(sock, request)
                except OSError:
                    return

    def hang_up(self) -> None:
        """Close every connection."""
        for sock in self._open:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._open.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in `accept`
        self._listener.close()
        self.hang_up()


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    with suppress(OSError):
        running.close()


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def client_of(events: list[dict[str, Any]]) -> Iterator[Callable[[str], HttpClient]]:
    """Makes a client for some hosts."""
    pools: list[Pool] = []

    def make(hosts: str) -> HttpClient:
        pools.append(Pool(hosts, 5.0))
        client = HttpClient(pools[-1], lambda **event: events.append(event), Traffic(), "tester")
        client.read_timeout_s = 20.0
        return client

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def client(server: Server, client_of: Callable[[str], HttpClient]) -> HttpClient:
    return client_of(server.url)


def drop(sock: socket.socket, request: bytes) -> None:
    sock.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD"])
def test_a_request_is_never_sent_twice(
    server: Server, client: HttpClient, events: list[Any], method: str
) -> None:
    server.script = drop
    response = client.request(method, "/x")
    assert len(server.requests) == 1
    assert str(response.error) == "connection closed"
    assert response.verdict.outcome == ("failed" if method in ("GET", "HEAD") else "unknown")
    assert len(events) == 1
    assert events[0]["exception"] is response.error


def test_also_not_on_a_connection_that_was_used_before(server: Server, client: HttpClient) -> None:
    client.get("/a")
    server.script = drop
    assert client.put("/b").verdict.outcome == "unknown"
    assert len(server.requests) == 2


def test_connections_are_kept_and_used_again(server: Server, client: HttpClient) -> None:
    for _ in range(5):
        assert client.get("/a").json() == {"a": 1}
    assert (server.connections, len(server.requests)) == (1, 5)


def test_a_connection_that_the_server_closed_meanwhile_is_not_used(
    server: Server, client: HttpClient
) -> None:
    client.get("/a")
    server.hang_up()
    time.sleep(0.05)
    assert client.post("/b").verdict.outcome == "ok"
    assert server.connections == 2


def test_an_answer_that_ends_the_connection_ends_it(server: Server, client: HttpClient) -> None:
    server.script = lambda sock, request: sock.sendall(answer(b"{}", headers="Connection: close\r\n"))
    assert client.get("/a").ok
    assert client.get("/b").ok
    assert server.connections == 2


def test_silence_is_bounded(server: Server, client: HttpClient) -> None:
    server.script = lambda sock, request: time.sleep(8)
    client.read_timeout_s = 0.4
    began = time.monotonic()
    read, write = client.get("/a"), client.post("/b", json={}, timeout=0.3)
    assert 0.7 <= time.monotonic() - began < 7
    assert (read.verdict.outcome, read.verdict.why) == ("failed", "timeout")
    assert (write.verdict.outcome, write.verdict.why) == ("unknown", "timeout")
    assert read.status_code == 0


def test_an_answer_in_drops_is_bounded_as_a_whole(server: Server, client: HttpClient) -> None:
    def trickle(sock: socket.socket, request: bytes) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        for _ in range(80):
            sock.sendall(b"x")
            time.sleep(0.1)

    server.script = trickle
    began = time.monotonic()
    assert client.get("/a", timeout=0.4).verdict.why == "timeout"
    assert time.monotonic() - began < 6


def test_chunks_and_early_hints_are_understood(server: Server, client: HttpClient) -> None:
    def chunked(sock: socket.socket, request: bytes) -> None:
        sock.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        sock.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n')
        time.sleep(0.05)
        sock.sendall(b'4\r\n":2}\r\n0\r\n\r\n')

    server.script = chunked
    assert client.get("/a").json() == {"a": 2}
    assert client.get("/b").json() == {"a": 2}
    assert server.connections == 1


@pytest.mark.parametrize("bytes_", [b"SSH-2.0-x\r\n", b"HTTP/1.1 banana\r\n\r\n"])
def test_what_cannot_be_read_is_an_error(server: Server, client: HttpClient, bytes_: bytes) -> None:
    server.script = lambda sock, request: sock.sendall(bytes_)
    assert client.get("/a").verdict.why == "unreadable answer"


def test_nothing_is_sent_where_nobody_listens(server: Server, client: HttpClient) -> None:
    server.close()
    response = client.post("/a", json={})
    assert (response.verdict.outcome, response.verdict.why) == ("failed", "connection refused")


def test_the_next_instance_is_tried_before_anything_is_sent(
    server: Server, client_of: Callable[[str], HttpClient]
) -> None:
    dead = Server()
    dead.close()
    client = client_of(f"{dead.url},{server.url}")
    responses = [client.post("/a", json={}) for _ in range(4)]
    assert all(response.ok for response in responses)
    assert sorted(response.failover for response in responses) == ["", "", *["connection refused"] * 2]
    assert len(server.requests) == 4


def test_an_instance_that_came_back_gets_requests_once_it_answers(
    server: Server, client_of: Callable[[str], HttpClient]
) -> None:
    """As behind a published container port, which resets connections before the program listens."""
    (port,) = free_ports(1)
    client = client_of(f"http://127.0.0.1:{port},{server.url}")
    client.post("/a", json={})
    client.post("/a", json={})
    back = Server(port)
    back.script = lambda sock, request: sock.close()
    _post_until(client, lambda: len(back.requests) >= 2)
    assert all(request.startswith(b"GET /healthz ") for request in back.requests)
    back.script = lambda sock, request: sock.sendall(answer(b"{}"))
    _post_until(client, lambda: back.requests[-1].startswith(b"POST /a "))
    back.close()


def _post_until(client: HttpClient, reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not reached():
        assert client.post("/a", json={}).ok
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_lone_instance_is_tried_whatever_its_trouble(client_of: Callable[[str], HttpClient]) -> None:
    (port,) = free_ports(1)
    client = client_of(f"http://127.0.0.1:{port}")
    assert client.post("/a", json={}).verdict.why == "connection refused"
    back = Server(port)
    assert client.post("/a", json={}).ok
    assert [request.split(b" ", 2)[1] for request in back.requests] == [b"/a"]
    back.close()


def test_without_any_good_instance_those_in_trouble_are_tried(
    client_of: Callable[[str], HttpClient],
) -> None:
    one, other = free_ports(2)
    client = client_of(f"http://127.0.0.1:{one},http://127.0.0.1:{other}")
    assert {client.post("/a", json={}).verdict.why for _ in range(4)} == {"connection refused"}
    back = Server(other)
    assert client.post("/a", json={}).ok
    back.close()


def test_instances_take_turns(server: Server, client_of: Callable[[str], HttpClient]) -> None:
    other = Server()
    client = client_of(f"{server.url}, {other.url}")
    for _ in range(6):
        client.get("/a")
    assert (len(server.requests), len(other.requests)) == (3, 3)
    other.close()


def test_latency_counts_from_the_intended_start_and_service_from_the_send(
    server: Server, client: HttpClient, events: list[Any]
) -> None:
    client.intended = time.monotonic() - 2.0
    response = client.get("/a")
    client.get("/b")
    late, next_ = events
    assert late["response_time"] == pytest.approx(2000, abs=1500)
    assert late["context"]["service_ms"] < late["response_time"] - 1900
    assert late["context"]["intended"] == response.intended
    assert late["start_time"] == pytest.approx(time.time() - 2.0, abs=1.9)
    assert next_["response_time"] < 1900
    assert (client.traffic.sent, client.traffic.late, client.traffic.in_flight) == (2, 1, 0)


def test_locusts_habits_are_kept(server: Server, client: HttpClient, events: list[Any]) -> None:
    client.headers["X-Always"] = "1"
    client.get("/a", name="/named", params={"q": "x y"}, headers={"X-Now": "2"}, context={"team": "red"})
    request = server.requests[0].decode()
    assert request.startswith("GET /a?q=x+y HTTP/1.1\r\n")
    assert "X-Always: 1\r\n" in request
    assert "X-Now: 2\r\n" in request
    assert (events[0]["request_type"], events[0]["name"]) == ("GET", "/named")
    assert events[0]["context"]["team"] == "red"
    client.post("/b", json={"x": 1})
    assert server.requests[1].decode().endswith('Content-Length: 7\r\n\r\n{"x":1}')


def test_the_caller_may_judge_an_answer_before_it_is_counted(
    server: Server, client: HttpClient, events: list[Any]
) -> None:
    with client.get("/a", catch_response=True) as response:
        assert isinstance(response, CaughtResponse)
        response.failure("too good")
    server.script = lambda sock, request: sock.sendall(answer(b"{}", "404 Not Found"))
    with client.get("/b", catch_response=True) as response:
        response.success()
    with client.get("/c", catch_response=True) as response:
        assert response.json() == {"all": "well"}, "not what I wanted"
    assert [str(event["exception"] or "") for event in events] == ["too good", "", "not what I wanted"]


def test_a_check_can_fail_a_good_answer(server: Server, client: HttpClient, events: list[Any]) -> None:
    def check(response: Response) -> None:
        response.wrong("an item twice")

    response = client.get("/a", check=check)
    assert response.verdict.why == "wrong content: an item twice"
    assert str(events[0]["exception"]) == "wrong content: an item twice"


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/posts/5f0c5a0e-7a1c-5f0e-9d0e-feed57000000/like", "/posts/{id}/like"),
        ("/users/123/following/456?cursor=x", "/users/{id}/following/{id}"),
        ("/feed?limit=20", "/feed"),
        ("/v2/feed", "/v2/feed"),
    ],
)
def test_requests_without_a_name_are_named_by_their_template(path: str, template: str) -> None:
    assert template_of(path) == template


@pytest.mark.parametrize("hosts", ["", "https://x", "ftp://x", " , "])
def test_a_host_that_cannot_be_used_is_refused(hosts: str) -> None:
    with pytest.raises(HostError):
        Pool(hosts, 1.0)
