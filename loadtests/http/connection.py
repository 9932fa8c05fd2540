"""One keep-alive connection: bytes out, one parsed answer in."""

import errno
import socket
import time
from contextlib import suppress
from typing import Final

import gevent.socket
import httptools

from loadtests.http.deadlines import Deadlines
from loadtests.http.errors import Broken, ConnectFailed

RECEIVE_BYTES: Final = 65_536
Address = tuple[str, int]


class Connection:
    """Not shared: one op at a time. After an error it is of no use and must be closed."""

    __slots__ = (
        "_body",
        "_complete",
        "_deadlines",
        "_expired",
        "_headers",
        "_parser",
        "_socket",
        "keep_alive",
    )

    def __init__(self, address: Address, connect_timeout_s: float, deadlines: Deadlines) -> None:
        """Connect. Raises ConnectFailed; nothing was sent then."""
        self._deadlines = deadlines
        self._socket = gevent.socket.socket(
            socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_STREAM
        )
        self._socket.settimeout(connect_timeout_s)
        try:
            self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise ConnectFailed(_connect_problem(error)) from None
        except BaseException:
            self._socket.close()
            raise
        self._socket.settimeout(None)  # from here on, deadlines are kept for all connections together
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = httptools.HttpResponseParser(self)
        self.keep_alive = False

    # -- what httptools calls; `should_keep_alive` is only right inside `on_message_complete` --

    def on_message_begin(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:  # a 1xx answer comes before the real one
            self._complete = True
            self.keep_alive = self._parser.should_keep_alive()

    # ------------------------------------------------------------------------------------------

    def exchange(self, request: bytes, timeout_s: float) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Send a request and wait for its whole answer: (status, headers, body).

        `timeout_s` bounds everything from the first byte sent to the last byte received.

        Raises:
            Broken: there is no whole answer; the server may have done what was asked.
        """
        self._complete = self._expired = self.keep_alive = False
        sock, feed, deadlines = self._socket, self._parser.feed_data, self._deadlines
        deadlines.set(self, time.monotonic() + timeout_s)
        try:
            sent = sock.send(request)
            if sent < len(request):
                sock.sendall(request[sent:])
            while not self._complete:
                data = sock.recv(RECEIVE_BYTES)
                if not data:
                    raise Broken("timeout" if self._expired else "connection closed")
                feed(data)
        except OSError as error:
            if self._expired:
                raise Broken("timeout") from None
            reset = error.errno in (errno.ECONNRESET, errno.EPIPE)
            raise Broken("connection reset" if reset else "connection lost") from None
        except httptools.HttpParserError:
            raise Broken("unreadable answer") from None
        finally:
            deadlines.clear(self)
        return self._parser.get_status_code(), self._headers, b"".join(self._body)

    def expire(self) -> None:
        """Whoever waits for the answer wakes, and finds the connection at its end."""
        self._expired = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def is_open(self) -> bool:
        """Whether an idle connection can still be used: the server has neither closed it nor spoken."""
        try:
            self._socket._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._socket.close()


def _connect_problem(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "connect timeout"
    if isinstance(error, socket.gaierror):
        return "unknown host"
    return "connection refused" if error.errno == errno.ECONNREFUSED else "cannot connect"
