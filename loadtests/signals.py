"""Signals and parents: what ends a swarm from outside, always through Locust's own way down."""

import os
import signal
from collections.abc import Callable
from typing import Any, Final

import gevent
import psutil

PARENT_ENV: Final = "FEEDSTORM_PARENT"


class Signals:
    """Remembers which signal came. SIGINT is thrown into the main greenlet, and nowhere else."""

    def __init__(self) -> None:
        self.first: signal.Signals | None = None

    def install(self) -> None:
        """Call once in each process, after forking; Locust's own SIGTERM handler comes after ours."""
        main = gevent.get_hub().parent
        gevent.signal_handler(signal.SIGTERM, self._remember, signal.SIGTERM)
        gevent.signal_handler(signal.SIGINT, self._interrupt, main)

    def _remember(self, number: signal.Signals) -> None:
        self.first = self.first or number

    def _interrupt(self, main: Any) -> None:
        self._remember(signal.SIGINT)
        gevent.get_hub().loop.run_callback(main.throw, KeyboardInterrupt)


def parent_pid() -> int | None:
    """The process that this swarm belongs to, if one said so."""
    text = os.environ.get(PARENT_ENV, "")
    return int(text) if text.isdigit() else None


def end_with(pid: int, why: str, say: Callable[[str], None]) -> gevent.Greenlet:
    """End this process cleanly once process `pid` is gone."""
    return gevent.spawn(_watch, pid, why, say)


def _watch(pid: int, why: str, say: Callable[[str], None]) -> None:
    try:
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            gevent.sleep(0.5)
    except psutil.NoSuchProcess:
        pass
    say(f"{why} (process {pid}) is gone: the swarm ends")
    os.kill(os.getpid(), signal.SIGTERM)
