"""Processes by pid and birth: signals reach the right one or nobody."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

import psutil
import pytest

from compose.embedded.processes import Process, send, spawn, state_of, wait_for
from compose.stack import State

SLEEPER = (sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)")


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    process = spawn(SLEEPER, env={"EXTRA": "1"}, cwd=tmp_path, log=tmp_path / "log")
    yield process
    send(process, SIGKILL)
    assert wait_for(process, State.DOWN, within_s=5)


def test_states_follow_signals(sleeper: Process) -> None:
    assert state_of(sleeper) is State.RUNNING
    assert send(sleeper, SIGSTOP)
    assert wait_for(sleeper, State.PAUSED, within_s=2)
    assert send(sleeper, SIGCONT)
    assert wait_for(sleeper, State.RUNNING, within_s=2)
    assert send(sleeper, SIGTERM)
    assert wait_for(sleeper, State.DOWN, within_s=2)
    assert not send(sleeper, SIGTERM)


def test_a_process_has_a_session_a_log_and_a_setting_of_its_own(sleeper: Process, tmp_path: Path) -> None:
    assert os.getsid(sleeper.pid) == sleeper.pid != os.getsid(0)
    assert psutil.Process(sleeper.pid).environ()["EXTRA"] == "1"
    deadline = time.monotonic() + 5
    while (tmp_path / "log").read_text() != "here\n":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pid_that_means_somebody_else_by_now_is_never_hit(sleeper: Process) -> None:
    former = replace(sleeper, birth="long ago")
    assert state_of(former) is State.DOWN
    assert not send(former, SIGKILL)
    assert state_of(sleeper) is State.RUNNING


def test_a_child_that_somebody_else_killed_is_waited_for(sleeper: Process) -> None:
    os.kill(sleeper.pid, SIGKILL)
    assert wait_for(sleeper, State.DOWN, within_s=2)
    assert not psutil.pid_exists(sleeper.pid)


def test_a_zombie_of_somebody_else_counts_as_down(tmp_path: Path) -> None:
    code = (
        "from compose.embedded.processes import spawn; from pathlib import Path; import os, signal, time;"
        f"p = spawn({SLEEPER!r}, env={{}}, cwd=Path('.'), log=Path({str(tmp_path / 'log')!r}));"
        "os.kill(p.pid, signal.SIGKILL); print(p.pid, p.birth, flush=True); time.sleep(30)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid, birth = parent.stdout.readline().split()
        assert wait_for(Process(int(pid), birth), State.DOWN, within_s=5)
        assert psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
        parent.kill()


def test_nobody_is_down_already() -> None:
    assert state_of(None) is State.DOWN
    assert not send(None, SIGKILL)
    assert wait_for(None, State.DOWN, within_s=0)


def test_a_program_that_does_not_exist_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        spawn(("/nowhere/program",), env={}, cwd=tmp_path, log=tmp_path / "log")
