"""Connections to one or more instances of the API, shared by all users of a process."""

import itertools
from typing import Final
from urllib.parse import urlsplit

from loadtests.http.connection import Address, Connection
from loadtests.http.deadlines import Deadlines
from loadtests.http.errors import ConnectFailed

_EVERY_REQUEST: Final = "User-Agent: feedstorm\r\nAccept: application/json\r\n"


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

        Raises:
            ConnectFailed: no instance can be reached. Nothing was sent.
        """
        first, passed_over = next(self._turns), ""
        for offset in range(len(self.instances)):
            instance = self.instances[(first + offset) % len(self.instances)]
            try:
                return instance, self._connect(instance), passed_over
            except ConnectFailed as error:
                passed_over = str(error)
        raise ConnectFailed(passed_over)

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
