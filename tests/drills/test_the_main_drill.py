"""The main drill, end to end: it can pass, it can fail, it can be invalid, and it can be interrupted."""

import json
import os
import signal
import time

import pytest

from tests.drills.conftest import SHORT, Shell, finish, wait_for_line
from tests.integration.compose.servers import real_mongod

pytestmark = pytest.mark.timeout(420)  # a whole stack on a busy machine
HEALED_WITHIN_S = 10.0


def test_it_passes_and_takes_down_what_it_brought_up(shell: Shell) -> None:
    ran = shell.run("drill", shell.write("short.yaml", SHORT))
    verdict = shell.verdict()
    assert ran.code == 0, ran.out + ran.err
    assert verdict["verdict"] == "pass"
    assert all(proof["seen"] for proof in verdict["proofs"])
    assert verdict["audit"]["lost"] == 0
    assert verdict["audit"]["acknowledged"] > 10
    assert {
        "run",
        "drill",
        "stack",
        "verdict",
        "why",
        "targets",
        "faults",
        "audit",
        "recovery",
        "quality",
    } <= set(verdict)
    (fault,) = verdict["faults"]
    assert fault["seen"] is True
    assert fault["healed_at"] - fault["injected_at"] == pytest.approx(6, abs=0.2)
    for name in (
        "report.html",
        "report.md",
        "junit.xml",
        "run.json",
        "audit.json",
        "logs/swarm.log",
        "logs/api1.log",
    ):
        assert (shell.runs / "latest" / name).exists(), name
    assert "report.html" in ran.out
    assert shell.processes() == []


@pytest.mark.slow
def test_it_passes_on_mongodb_itself(shell: Shell) -> None:
    """A `mongod` on PATH is what the embedded stack takes."""
    shell.environ["PATH"] = os.pathsep.join([str(real_mongod().parent), os.environ["PATH"]])
    ran = shell.run("drill", shell.write("short.yaml", SHORT))
    verdict = shell.verdict()
    assert ran.code == 0, ran.out + ran.err
    assert (verdict["verdict"], verdict["audit"]["lost"]) == ("pass", 0)
    assert "(mongod)" in json.loads((shell.runs / "latest" / "run.json").read_text())["versions"]["mongo"]
    assert shell.processes() == []


def test_a_lost_write_and_a_missed_target_make_it_fail(standing: Shell) -> None:
    tight = SHORT.replace("feed.error_rate < 5% in fault", "feed.latency.p50 < 0.01ms in fault")
    ran = standing.run(standing.write("tight.yaml", tight), "lose-a-post", module="tests.drills.tampering")
    verdict = standing.verdict()
    assert ran.code == 1, ran.out + ran.err
    assert verdict["verdict"] == "fail"
    removed = ran.out.split("removed ")[1].split()[0]
    assert verdict["audit"]["lost"] == 1
    assert removed in (standing.runs / "latest" / "report.html").read_text()
    assert removed in (standing.runs / "latest" / "report.md").read_text()
    assert any("target missed: feed.latency.p50" in why for why in verdict["why"])


def test_a_fault_that_does_nothing_makes_it_invalid(standing: Shell) -> None:
    ran = standing.run(standing.write("short.yaml", SHORT), "do-nothing", module="tests.drills.tampering")
    verdict = standing.verdict()
    assert ran.code == 3, ran.out + ran.err
    assert verdict["verdict"] == "invalid"
    assert any("the fault had no effect" in why for why in verdict["why"])


def test_a_broken_baseline_makes_it_invalid_before_any_fault(standing: Shell) -> None:
    with standing.start("drill", standing.write("short.yaml", SHORT)) as process:
        wait_for_line(process, "starting the swarm")
        broken = standing.run("inject", "kill", "mongo:majority", "--for", "12s")
        ran = finish(process)
    assert broken.code == 0, broken.err
    assert ran.code == 3, ran.out + ran.err
    assert any("baseline was already broken" in why for why in standing.verdict()["why"])
    assert not [event for event in standing.events() if event["kind"] == "fault"]


def test_ctrl_c_heals_takes_the_stack_down_and_leaves_a_partial_run(shell: Shell) -> None:
    with shell.start("drill", shell.write("short.yaml", SHORT)) as process:
        wait_for_line(process, "injected")
        process.send_signal(signal.SIGINT)
        ran = finish(process, signal.SIGINT)
    assert ran.code == 130, ran.out + ran.err
    stages = [event["stage"] for event in shell.events() if event["kind"] == "fault"]
    assert stages[-1] == "healed"
    assert [event["why"] for event in shell.events() if event["kind"] == "end"] == ["interrupted"]
    assert shell.verdict()["verdict"] == "invalid"
    assert (shell.runs / "latest" / "report.html").exists()
    assert shell.leases() == []
    assert shell.processes() == []


def test_sigterm_heals_and_leaves_a_stack_that_was_up_before(standing: Shell) -> None:
    with standing.start("drill", standing.write("short.yaml", SHORT)) as process:
        wait_for_line(process, "injected")
        ran = finish(process, signal.SIGTERM)
    assert ran.code == 130, ran.out + ran.err
    assert standing.leases() == []
    assert standing.members_not_running() == []


def test_after_sigkill_nothing_stays_dead_longer_than_ten_seconds(standing: Shell) -> None:
    with standing.start(
        "drill", standing.write("short.yaml", SHORT.replace("for: 6s", "for: 60s"))
    ) as process:
        wait_for_line(process, "injected")
        assert len(standing.leases()) == 1
        process.send_signal(signal.SIGKILL)
        killed_at = time.monotonic()
        while standing.leases() or standing.members_not_running():
            assert time.monotonic() - killed_at < HEALED_WITHIN_S + 2, "a status call takes a second"
    assert standing.run("heal").out.strip() == "nothing to heal"
    last = [event for event in standing.events() if event["kind"] == "fault"][-1]
    assert last["stage"] == "healed", "the reaper writes into the run's own history"


def test_a_second_drill_on_the_same_stack_is_refused(standing: Shell) -> None:
    with standing.start("drill", standing.write("short.yaml", SHORT)) as process:
        wait_for_line(process, "using the embedded stack")
        second = standing.run("drill", "short.yaml")
        finish(process, signal.SIGINT)
    assert second.code == 4
    assert "another drill is running" in second.sentence
