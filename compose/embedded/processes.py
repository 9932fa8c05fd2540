"""Processes that outlive the one that started them: found again, signalled and started by anybody.

A process is known by its pid together with its birth, so that a pid that the system has given to
somebody else since is never hit. One that has ended but was not waited for (a zombie) counts as down;
whoever started it waits for it as soon as it looks at its state.
"""

import errno
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from compose.stack import State

POLL_S = 0.01


@dataclass(frozen=True)
class Process:
    """One process of this machine. `birth` is opaque; no two processes share it and the pid."""

    pid: int
    birth: str


# The pids of our own children that nobody has waited for yet.
_children: set[int] = set()


def spawn(argv: tuple[str, ...], *, env: dict[str, str], cwd: Path, log: Path) -> Process:
    """Start a process in a session of its own (a Ctrl-C here does not reach it), output appended to `log`.

    `env` is added to the environment of this process. Raises OSError if the program cannot be run.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            argv,
            env={**os.environ, **env},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _children.add(child.pid)
    child.returncode = 0  # it will outlive this object: `_reap` waits for it
    seen = _look(child.pid)
    return Process(child.pid, seen[1] if seen else "")


def state_of(process: Process | None) -> State:
    """RUNNING, PAUSED or DOWN."""
    if process is None:
        return State.DOWN
    _reap()
    seen = _look(process.pid)
    if seen is None or seen[1] != process.birth:
        return State.DOWN
    if seen[0] is State.DOWN:
        _reap()  # it may have ended just now
    return seen[0]


def send(process: Process | None, number: signal.Signals) -> bool:
    """Send a signal. False if the process is down already (then nothing was sent to anybody)."""
    if process is None or state_of(process) is State.DOWN:
        return False
    try:
        if hasattr(os, "pidfd_open"):
            return _send_by_handle(process, number)
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def wait_for(process: Process | None, state: State, *, within_s: float) -> bool:
    """Whether the process came to be in `state` within the bound. Blocks."""
    deadline = time.monotonic() + within_s
    while state_of(process) is not state:
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _reap() -> None:
    """Wait for those of our children that have ended, whoever ended them."""
    for pid in tuple(_children):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _children.discard(pid)


def _send_by_handle(process: Process, number: signal.Signals) -> bool:
    """As `os.kill`, but certain: while the handle is open, the pid cannot come to mean another process."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        os.kill(process.pid, number)  # a kernel without such handles
        return True
    try:
        if state_of(process) is State.DOWN:
            return False
        signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)
    return True


def _look(pid: int) -> tuple[State, str] | None:
    """(state, birth) of whatever has this pid now."""
    if _has_proc():
        return _look_in_proc(pid)
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            status, birth = process.status(), f"{process.create_time():.3f}"
    except psutil.Error:
        return None
    over = status in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return (State.DOWN if over else State.PAUSED if status == psutil.STATUS_STOPPED else State.RUNNING), birth


def _look_in_proc(pid: int) -> tuple[State, str] | None:
    """As `_look`, from /proc: the start in clock ticks since boot, which no change of the date moves."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    status, threads, started = fields[0], int(fields[17]), fields[19]
    states = {"Z": State.DOWN, "X": State.DOWN, "T": State.PAUSED, "t": State.PAUSED}
    if status == "Z" and threads > 1:
        status = "R"  # its other threads are yet to end, and hold its ports until then
    return states.get(status, State.RUNNING), f"{_boot_id()}:{started}"


@cache
def _has_proc() -> bool:
    return Path("/proc/self/stat").exists()


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
