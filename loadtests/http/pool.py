"""Connections to one or more instances of the API, shared by all users of a process.

With several instances it does what a load balancer does: one that cannot be reached is taken out, and
gets requests again once it has answered a health check. Without the check, the first requests after a
restart would be lost: a published container port takes connections, and resets them, before the
program behind it listens.
"""

import itertools
import time
from typing import Final
from urllib.parse import urlsplit

import gevent

from loadtests.http.connection import Address, Connection
from loadtests.http.deadlines import Deadlines
from loadtests.http.errors import Broken, ConnectFailed

_EVERY_REQUEST: Final = "User-Agent: feedstorm\r\nAccept: application/json\r\n"
_HEALTH: Final = "/healthz"
_LOOK_EVERY_S: Final = 0.1


class HostError(ValueError):
    """A host URL cannot be used. The message is one plain sentence for a user."""


class Instance:
    """One instance of the API and its idle connections, newest last."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise HostError(f"--host: {parts.scheme}://{parts.hostname or ''} is not an http:// address")
        self.address: Address = (parts.hostname, parts.port or 80)
        self.prefix: Final = parts.path.rstrip("/")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self.head: Final = f"Host: {host}:{self.address[1]}\r\n{_EVERY_REQUEST}"
        self.idle: list[Connection] = []
        self.trouble = ""
        """Why it could not be reached, until it has answered a health check."""
        self.look_at = 0.0
        """Monotonic seconds before which it is not asked for its health again."""


class Pool:
    """Round robin over the instances. Taking a connection sends nothing, so it may try the next instance."""

    def __init__(self, hosts: str, connect_timeout_s: float) -> None:
        """`hosts`: one URL, or several with commas between them."""
        self.instances: Final = [Instance(url.strip()) for url in hosts.split(",") if url.strip()]
        if not self.instances:
            raise HostError("--host: no address was given; name the API, such as http://127.0.0.1:8000")
        self._turns = itertools.cycle(range(len(self.instances)))
        self._connect_timeout_s, self._deadlines = connect_timeout_s, Deadlines()

    def take(self) -> tuple[Instance, Connection, str]:
        """An instance, an open connection to it, and why another instance was passed over ("" if none).

        Instances in trouble come last: they get requests only where there is no other.

        Raises:
            ConnectFailed: no instance can be reached. Nothing was sent.
        """
        first, passed_over = next(self._turns), ""
        in_trouble = []
        for offset in range(len(self.instances)):
            instance = self.instances[(first + offset) % len(self.instances)]
            if instance.trouble:
                passed_over = instance.trouble
                in_trouble.append(instance)
                self._look_after(instance)
                continue
            try:
                return instance, self._connect(instance), passed_over
            except ConnectFailed as error:
                passed_over = str(error)
                if len(self.instances) > 1:
                    instance.trouble = passed_over
        for instance in in_trouble:
            try:
                return instance, self._connect(instance), passed_over
            except ConnectFailed as error:
                passed_over = str(error)
        raise ConnectFailed(passed_over)

    def _look_after(self, instance: Instance) -> None:
        now = time.monotonic()
        if now >= instance.look_at:
            instance.look_at = float("inf")  # one look at a time
            gevent.spawn(self._look, instance)

    def _look(self, instance: Instance) -> None:
        """Ask for its health; whatever it answers, it answers again."""
        try:
            connection = Connection(instance.address, self._connect_timeout_s, self._deadlines)
            request = f"GET {instance.prefix}{_HEALTH} HTTP/1.1\r\n{instance.head}\r\n"
            try:
                connection.exchange(request.encode("latin-1"), self._connect_timeout_s)
            except BaseException:
                connection.close()
                raise
            self.give_back(instance, connection)
            instance.trouble = ""
        except (ConnectFailed, Broken):
            pass  # the next op that would have been its turn asks again
        finally:
            instance.look_at = time.monotonic() + _LOOK_EVERY_S

    def _connect(self, instance: Instance) -> Connection:
        while instance.idle:
            connection = instance.idle.pop()
            if connection.is_open():
                return connection
            connection.close()
        return Connection(instance.address, self._connect_timeout_s, self._deadlines)

    def give_back(self, instance: Instance, connection: Connection) -> None:
        if connection.keep_alive:
            instance.idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close idle connections."""
        for instance in self.instances:
            while instance.idle:
                instance.idle.pop().close()
