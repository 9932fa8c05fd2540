"""The swarm: the load generator as a child process, started, listened to, and drained."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from chaos.drill import Drill
from chaos.errors import CouldNotRunError
from compose.embedded.ports import LOOPBACK, free_ports
from compose.waiting import NeverHappenedError, wait_until
from results.history import SERIES, T0_ENV, SeriesRow, Tail, WorkerChange

DRAIN_S = 8
_JOINS_WITHIN_S = 45.0
_ENDS_WITHIN_S = DRAIN_S + 12.0
_INSISTED_WITHIN_S = 3.0
_NICE = -5
_PARENT_ENV = "FEEDSTORM_PARENT"


def command_line(
    drill: Drill, directory: Path, hosts: Sequence[str], seed: int, options: Sequence[str] = ()
) -> list[str]:
    """How the load of a drill is started on these instances of the API. `options` are more of Locust's."""
    load = drill.load
    mix = ",".join(f"{user}:{weight}" for user, weight in load.mix.items())
    return [
        sys.executable, "-m", "locust", "-f", str(_locustfile()), "--headless",
        "--host", ",".join(hosts), "--run-dir", str(directory),
        "--arrivals", f"{float(load.arrivals):g}", "--shape", load.shape, "--mix", mix,
        "--seed", str(seed), "--population", str(drill.population.settled(seed)),
        "--probes", ",".join(load.probes), "--drain", str(DRAIN_S),
        *options,
    ]  # fmt: skip


def forked(processes: int) -> list[str]:
    """Locust's options for a master and so many workers on this machine, on a port that no other swarm uses;
    none for a single process."""
    if processes == 1:
        return []
    (port,) = map(str, free_ports(1))
    master = ["--master-bind-host", LOOPBACK, "--master-bind-port", port, "--master-port", port]
    return ["--processes", str(processes), *master]


def _locustfile() -> Path:
    return Path(__file__).parents[1] / "loadtests" / "locustfile.py"


def _let_go_first(pid: int) -> None:
    """Where that is allowed: a generator that waits for a core takes the stack beside it for slow."""
    with suppress(PermissionError, ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)


class Swarm:
    """A running load generator. It lives in a session of its own, so that only we tell it to stop."""

    def __init__(self, process: asyncio.subprocess.Process, directory: Path, log: Path) -> None:
        self._process, self._log = process, log
        self._tail = Tail[SeriesRow](directory / SERIES, SeriesRow)

    @classmethod
    async def start(cls, command: Sequence[str], directory: Path, t0: float) -> "Swarm":
        """Start it; `t0` is the run's start, by which all its rows are timed."""
        log = directory / "logs" / "swarm.log"
        environment = {**os.environ, T0_ENV: repr(t0), _PARENT_ENV: str(os.getpid())}
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output,
                env=environment, start_new_session=True,
            )  # fmt: skip
        _let_go_first(process.pid)
        return cls(process, directory, log)

    async def joined(self) -> float:
        """When its arrivals began, in seconds of the run. Raises CouldNotRunError if they never do."""

        def look() -> float | None:
            if self._process.returncode is not None:
                return -1.0
            rows = self._tail.read()
            return next(
                (row.t for row in rows if isinstance(row, WorkerChange) and row.state == "joined"), None
            )

        try:
            began = await wait_until(look, "the swarm's first arrival", within_s=_JOINS_WITHIN_S)
        except NeverHappenedError as error:
            raise CouldNotRunError(f"{error}; its last words: {self.last_words()}. See {self._log}") from None
        if began is None or began < 0:
            raise CouldNotRunError(
                f"the swarm ended before it began (exit {self._process.returncode}): "
                f"{self.last_words()}. See {self._log}"
            )
        return began

    async def ended(self) -> int:
        """Wait until it has ended by itself; its exit code."""
        return await self._process.wait()

    async def drain(self, *, within_s: float = _ENDS_WITHIN_S) -> int:
        """Ask it to stop and let its last ops finish; insist after `within_s`. Returns its exit code."""
        for patience_s in (within_s, _INSISTED_WITHIN_S):
            if self._process.returncode is None:
                self._process.terminate()
            try:
                return await asyncio.wait_for(self._process.wait(), patience_s)
            except TimeoutError:
                continue
        self.kill()
        return await self._process.wait()

    def kill(self) -> None:
        """SIGKILL to it and its workers: they share its session."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return lines[-1] if lines else "(none)"
