"""A lost, frozen or starved worker is named, its gap is shown, and the run goes on without it."""

import signal
import time
from pathlib import Path

import pytest

from results.latency import merge, quantile
from tests.integration.loadtests.harness import Run, Stub, swarm, wait_for


def seconds_without_load(run: Run, begin: float, end: float) -> list[int]:
    busy = {row.t for row in run.ops()}
    return [second for second in range(int(begin) + 1, int(end)) if second not in busy]


def test_a_worker_that_freezes_returns_and_dies(stub: Stub, tmp_path: Path) -> None:
    with swarm(tmp_path, stub.url, "--arrivals", "60", "--processes", "2") as running:
        running.joined(2)
        victim = running.workers()[0]
        running.at(running.now + 2)
        frozen_at = running.now
        victim.suspend()
        running.at(running.now + 6)
        victim.resume()
        wait_for(lambda: "returned" in running.read().all_states(), "the worker's return", within_s=10)
        running.at(running.now + 2)
        killed_at = running.now
        victim.kill()
        running.at(running.now + 6)
        run = running.stop()
    lost = next(change.worker for change in run.workers() if change.state == "lost")
    survivor = "w1" if lost == "w0" else "w0"
    assert run.states(lost) == ["joined", "lost", "returned", "lost"]
    assert run.states(survivor) == ["joined", "done"]
    assert seconds_without_load(run, frozen_at, killed_at + 5) == []
    # the server saw a little more than was reported: what the victim did in its last second
    assert 0 <= stub.total - run.sent <= 120
    assert "DEGRADED" in run.output
    assert f"worker {lost}: no report since" in run.output
    assert f"worker {lost}: no report from" in run.output
    assert run.code == 3
    # the freeze was ours, so nobody's latency shows it
    assert (quantile(run.latencies(), 1.0) or 0) < 2.0
    assert sum(row.abandoned for row in run.generator() if row.worker == lost) > 50


def test_a_run_without_trouble_has_two_workers_and_no_gap(stub: Stub, tmp_path: Path) -> None:
    with swarm(tmp_path, stub.url, "--arrivals", "60", "--processes", "2", "-t", "5") as running:
        run = running.end()
    assert run.sent == stub.total
    assert run.planned == run.ended + run.abandoned
    assert {row.worker for row in run.ops()} == {"w0", "w1"}
    assert sum(change.sent for change in run.workers() if change.state == "done") == run.sent
    assert "no report" not in run.output


@pytest.mark.slow
def test_a_starved_worker_is_late_and_says_so(stub: Stub, tmp_path: Path) -> None:
    with swarm(tmp_path, stub.url, "--arrivals", "60", "--processes", "2") as running:
        running.joined(2)
        victim = running.workers()[0]
        for _ in range(20):
            victim.send_signal(signal.SIGSTOP)
            time.sleep(0.4)
            victim.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        run = running.stop()
    slips = {
        worker: quantile(merge(row.slip for row in run.generator() if row.worker == worker), 0.95) or 0
        for worker in ("w0", "w1")
    }
    assert max(slips.values()) > 0.2
    starved = max(slips, key=lambda worker: slips[worker])
    assert sum(row.late for row in run.generator() if row.worker == starved) > 50
