"""Starts a stub app and a swarm as processes, and reads what the swarm has written. Everything is bounded."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from results.history import (
    LEDGER,
    SERIES,
    STALENESS,
    GeneratorSecond,
    LedgerEntry,
    OpSecond,
    SeriesRow,
    StalenessSample,
    WorkerChange,
    read_rows,
)
from results.latency import Buckets, count, merge

ROOT = Path(__file__).parents[3]
_PORTS = itertools.count()
POPULATION = "users=300,celebrities=1,celebrity_followers=150"


def free_port() -> int:
    """A port below the ephemeral range that nobody listens on now; another one each time."""
    for _ in range(500):
        port = 20_000 + (os.getpid() * 7 + next(_PORTS) * 13) % 12_000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port")


def wait_for(ready: Callable[[], Any], what: str, within_s: float) -> Any:
    deadline = time.monotonic() + within_s
    while True:
        value = ready()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not happen within {within_s} s"
        time.sleep(0.05)


class Stub:
    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.url = process, f"http://127.0.0.1:{port}"

    def behave(self, **fields: Any) -> None:
        httpx.put(f"{self.url}/stub/behave", json=fields, timeout=5).raise_for_status()

    def received(self) -> dict[str, int]:
        counts: dict[str, int] = httpx.get(f"{self.url}/stub/counts", timeout=5).json()
        return counts

    @property
    def total(self) -> int:
        return self.received().get("all", 0)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False


@contextmanager
def stub_app(population: str = POPULATION) -> Iterator[Stub]:
    port = free_port()
    command = [sys.executable, "-m", "tests.integration.loadtests.stub_app", "--port", str(port)]
    process = subprocess.Popen([*command, "--population", population], cwd=ROOT)
    stub = Stub(process, port)
    try:
        wait_for(stub.answers, "the stub's first answer", within_s=40)
        yield stub
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait(10)


@dataclass
class Run:
    """What a swarm left behind."""

    directory: Path
    code: int
    output: str
    series: list[SeriesRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.series = list(read_rows(self.directory / SERIES, SeriesRow))

    def ops(self, *, probes: bool = False) -> list[OpSecond]:
        rows = [row for row in self.series if isinstance(row, OpSecond)]
        return [row for row in rows if (row.user == "staleness_probe") is probes]

    def generator(self) -> list[GeneratorSecond]:
        return [row for row in self.series if isinstance(row, GeneratorSecond)]

    def workers(self) -> list[WorkerChange]:
        return [row for row in self.series if isinstance(row, WorkerChange)]

    def all_states(self) -> set[str]:
        return {change.state for change in self.workers()}

    def states(self, worker: str) -> list[str]:
        return [change.state for change in self.workers() if change.worker == worker]

    def staleness(self) -> list[StalenessSample]:
        return list(read_rows(self.directory / STALENESS, StalenessSample))

    def ledger(self) -> list[LedgerEntry]:
        return list(read_rows(self.directory / LEDGER, LedgerEntry))

    def latencies(self) -> Buckets:
        return merge(part for row in self.ops() for part in (row.ok, row.failed, row.unknown))

    def outcomes(self, *, probes: bool = False) -> Counter[str]:
        counts: Counter[str] = Counter()
        for row in self.ops(probes=probes):
            counts.update(
                ok=count(row.ok), failed=count(row.failed), unknown=count(row.unknown), shed=row.shed
            )
        return counts

    def why(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for row in self.ops():
            counts.update(row.why)
        return counts

    @property
    def ended(self) -> int:
        """Ops with an outcome, those of probes too."""
        every = self.outcomes() + self.outcomes(probes=True)
        return every["ok"] + every["failed"] + every["unknown"]

    @property
    def planned(self) -> int:
        """Every planned op ends in an outcome or is abandoned."""
        return sum(row.planned for row in self.generator())

    @property
    def sent(self) -> int:
        return sum(row.sent for row in self.generator())

    @property
    def abandoned(self) -> int:
        return sum(row.abandoned for row in self.generator())


class Swarm:
    """A running swarm. `arguments` are added to Locust's command line."""

    def __init__(self, directory: Path, host: str, *arguments: str, **options: Any) -> None:
        self.directory, self._began = directory, time.monotonic()
        self.port = free_port() if "--processes" in arguments else 0
        locustfile = options.get("locustfile", ROOT / "loadtests" / "locustfile.py")
        command = [sys.executable, "-m", "locust", "-f", str(locustfile), "--host", host]
        command += [] if "--web-port" in arguments else ["--headless"]
        command += ["--run-dir", str(directory), "--population", POPULATION, "--only-summary", *arguments]
        if self.port:
            command += ["--master-bind-host", "127.0.0.1"]
            command += ["--master-bind-port", str(self.port), "--master-port", str(self.port)]
        environment = {**os.environ, "FEEDSTORM_T0": repr(self._began), **options.get("env", {})}
        directory.mkdir(parents=True, exist_ok=True)
        self._log = (directory / "locust.log").open("w")
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def read(self) -> Run:
        """What is written so far."""
        return Run(self.directory, 0, "")

    @property
    def now(self) -> float:
        """Seconds of the run."""
        return time.monotonic() - self._began

    def at(self, second: float) -> None:
        """Wait until this second of the run."""
        time.sleep(max(0.0, self._began + second - time.monotonic()))

    def joined(self, workers: int = 1, within_s: float = 60) -> None:
        def are_there() -> bool:
            rows = read_rows(self.directory / SERIES, SeriesRow)
            return sum(isinstance(row, WorkerChange) for row in rows) >= workers

        wait_for(are_there, "the load's beginning", within_s)

    def until(self, enough: Callable[[Run], bool], within_s: float = 60) -> None:
        """Wait until what is written so far is enough."""
        wait_for(lambda: enough(self.read()), "enough load", within_s)

    def end(self, within_s: float = 60) -> Run:
        """Wait for its end."""
        try:
            code = self.process.wait(within_s)
        finally:
            self.close()
        return Run(self.directory, code, (self.directory / "locust.log").read_text())

    def stop(self, within_s: float = 60) -> Run:
        self.process.send_signal(signal.SIGTERM)
        return self.end(within_s)

    def close(self) -> None:
        """Leave no process behind."""
        if self.process.poll() is not None:
            self._log.close()
            return
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait(10)
        for child in children:
            if child.is_running():
                child.kill()
        self._log.close()


@contextmanager
def swarm(directory: Path, host: str, *arguments: str, **options: Any) -> Iterator[Swarm]:
    running = Swarm(directory, host, *arguments, **options)
    try:
        yield running
    finally:
        running.close()


def run_swarm(directory: Path, host: str, *arguments: str, **options: Any) -> Run:
    with swarm(directory, host, *arguments, **options) as running:
        return running.end()
