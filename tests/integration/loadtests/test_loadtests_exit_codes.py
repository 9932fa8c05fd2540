"""The exit status says what a run was worth: failed ops, no data, an exception, bad usage, interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.integration.loadtests.harness import Stub, free_port, run_swarm, swarm

SHORT = ("--arrivals", "20", "-t", "3", "--probes", "none", "--drain", "1")
CLOSED = ("-u", "5", "-r", "10", *SHORT[2:])  # asks for no rate, so none can be missed on a busy machine
OWN_USER = """
    from locust import events, task
    from loadtests import swarm
    from loadtests.http.user import RawHttpUser

    swarm.attach()

    class Visitor(RawHttpUser):
        {body}
"""


def own_locustfile(directory: Path, body: str) -> Path:
    path = directory / "own_locustfile.py"
    lines = textwrap.indent(textwrap.dedent(body), "    ").strip()
    path.write_text(textwrap.dedent(OWN_USER).replace("{body}", lines))
    return path


def test_a_clean_run_is_0_and_failed_ops_are_1(stub: Stub, tmp_path: Path) -> None:
    assert run_swarm(tmp_path / "clean", stub.url, *CLOSED).code == 0
    stub.behave(fail_every=3)
    failing = run_swarm(tmp_path / "failing", stub.url, *CLOSED)
    assert failing.code == 1
    assert failing.outcomes()["failed"] > 0
    judged = run_swarm(tmp_path / "judged", stub.url, *SHORT, env={"FEEDSTORM_PARENT": str(os.getpid())})
    assert judged.code == 0  # whoever started it judges its ops


def test_a_port_where_nobody_listens_is_failed_ops(tmp_path: Path) -> None:
    run = run_swarm(tmp_path, f"http://127.0.0.1:{free_port()}", *CLOSED)
    assert run.code == 1
    assert run.outcomes()["failed"] == run.why()["connection refused"] > 0
    assert run.outcomes()["unknown"] == 0
    assert all(entry.outcome == "failed" for entry in run.ledger())


NO_TASK = "@task\ndef t(self): pass"
SLIP = "@task\ndef t(self):\n    self.client.get('/healthz')\n    raise ValueError('a slip')"
NO_LOGIN = f"def on_start(self):\n    raise OSError('no login')\n{NO_TASK}"


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [(SLIP, 4, "ValueError: a slip"), (NO_LOGIN, 4, "OSError: no login"), (NO_TASK, 3, "no data")],
)
def test_exceptions_and_no_data_are_not_a_pass(
    stub: Stub, tmp_path: Path, body: str, code: int, says: str
) -> None:
    run = run_swarm(tmp_path, stub.url, *SHORT, locustfile=own_locustfile(tmp_path, body))
    assert run.code == code
    assert says in run.output
    if code == 4:
        assert says in run.workers()[-1].detail


def test_an_exception_in_a_listener_is_not_a_pass_either(stub: Stub, tmp_path: Path) -> None:
    locustfile = own_locustfile(
        tmp_path,
        "@task\ndef t(self): self.client.get('/healthz')\n"
        "@events.request.add_listener\ndef broken(**_): raise KeyError('theirs')",
    )
    run = run_swarm(tmp_path, stub.url, *SHORT, "--processes", "1", locustfile=locustfile)
    assert run.code == 4
    assert "KeyError" in run.workers()[-1].detail


def test_answers_that_all_come_too_late_are_no_data(stub: Stub, tmp_path: Path) -> None:
    stub.behave(delay_s=30)
    run = run_swarm(tmp_path, stub.url, *SHORT, "--drain", "0.1", "--read-timeout", "30")
    assert run.code == 3
    assert "not one was answered" in run.output
    assert run.abandoned > 0


def test_an_interrupted_run_is_130_and_its_rows_are_there(stub: Stub, tmp_path: Path) -> None:
    with swarm(tmp_path, stub.url, "--arrivals", "20", "-t", "60", "--probes", "none") as running:
        running.until(lambda run: run.ended > 10)
        running.process.send_signal(signal.SIGINT)
        run = running.end(20)
    assert run.code == 130
    assert "partial" in run.output
    assert run.planned == run.ended + run.abandoned
    assert run.sent == stub.total
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--mix", "nobody:3"], "no user class is called nobody"),
        (["--shape", "zigzag"], "choose one of"),
        (["--host", "ftp://x"], "is not an http:// address"),
    ],
)
def test_bad_usage_is_2_in_one_sentence(tmp_path: Path, arguments: list[str], says: str) -> None:
    run = run_swarm(tmp_path, "http://127.0.0.1:1", *SHORT, *arguments)
    assert run.code == 2
    assert says in run.output
    assert "Traceback" not in run.output


def test_a_swarm_whose_parent_is_gone_ends_by_itself(stub: Stub, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        child_of = {"FEEDSTORM_PARENT": str(parent.pid)}
        try:
            with swarm(tmp_path, stub.url, "--arrivals", "20", env=child_of) as running:
                running.until(lambda run: run.ended > 5)
                parent.kill()
                run = running.end()
        finally:
            parent.kill()
    assert run.workers()[-1].state == "done"
    assert "is gone" in run.output
