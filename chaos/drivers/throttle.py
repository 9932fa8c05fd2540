"""Starves a process by letting it run only a part of every period: SIGSTOP, SIGCONT, over and over.

A helper process does the switching. It works while its token file exists, holds a lock on it, and
always leaves the member running; whoever removes the token ends it, from any process, without
knowing a pid. Past its bound it ends by itself.

    python -m chaos.drivers.throttle HOME MEMBER SHARE TOKEN
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from chaos.errors import CannotInjectError, HealError
from compose.embedded.processes import spawn

_PERIOD_S = 0.2
_AT_MOST_S = 3600.0
_STARTS_WITHIN_S = 10.0
_ENDS_WITHIN_S = 3.0


class Throttles:
    """The throttles of one stack, in `<home>/throttles`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def begin(self, member: str, share: float, token: str) -> None:
        """Start starving; returns once the helper is at work. Raises CannotInjectError."""
        path = self._path(token)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        what = (str(self._home), member, repr(float(share)), token)
        command = (sys.executable, "-m", "chaos.drivers.throttle", *what)
        spawn(command, env={}, cwd=Path.cwd(), log=self._path(f"{token}.log"))
        if not _waits_for(lambda: self.is_at_work(token), _STARTS_WITHIN_S):
            self.end(token)
            raise CannotInjectError(
                f"cpu: the helper that starves {member} did not start within {_STARTS_WITHIN_S:g} s"
            )

    def end(self, token: str) -> None:
        """Stop starving; harmless if nothing is. Raises HealError if the helper does not end."""
        self._path(token).unlink(missing_ok=True)
        if not _waits_for(
            lambda: not self._lock(token).exists() or not _is_locked(self._lock(token)), _ENDS_WITHIN_S
        ):
            raise HealError(
                f"cpu: the helper of {token} is still at work {_ENDS_WITHIN_S:g} s after it was told to end"
            )
        for leftover in (self._lock(token), self._path(f"{token}.log")):
            leftover.unlink(missing_ok=True)

    def is_at_work(self, token: str) -> bool:
        return self._path(token).exists() and self._lock(token).exists() and _is_locked(self._lock(token))

    def _path(self, token: str) -> Path:
        return self._home / "throttles" / token

    def _lock(self, token: str) -> Path:
        return self._home / "throttles" / f"{token}.lock"

    def work(self, member: str, share: float, token: str) -> None:
        """The helper's life."""
        from chaos.stacks import attach

        stack = attach(self._home)
        path, lock = self._path(token), self._lock(token)
        if stack is None or not path.exists():
            return
        ends = time.monotonic() + _AT_MOST_S
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            try:
                while path.exists() and time.monotonic() < ends:
                    stack.control.pause(member)
                    time.sleep(_PERIOD_S * (1 - share))
                    stack.control.resume(member)
                    time.sleep(_PERIOD_S * share)
            finally:
                stack.control.resume(member)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _waits_for(happened: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if happened():
            return True
        time.sleep(0.02)
    return False


def main() -> None:
    for stop in (signal.SIGINT, signal.SIGHUP):
        signal.signal(stop, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    home, member, share, token = sys.argv[1:]
    Throttles(Path(home)).work(member, float(share), token)


if __name__ == "__main__":
    main()
