"""A frozen API is felt by every op that should have been sent meanwhile."""

import sys
import time
from pathlib import Path

import pytest

from results.latency import count, quantile
from tests.integration.loadtests.harness import Run, Stub, swarm

RATE, STALL_S, TIMEOUT_S = 50, 10.0, 5.0


def theory(begin: float, end: float, stall: tuple[float, float]) -> tuple[float, float, float]:
    """(error rate, p95, max) of evenly spaced ops that start in [begin, end) and meet a stall."""
    latencies = []
    for number in range(int((end - begin) * RATE)):
        wait_s = stall[1] - (begin + number / RATE)
        meets = stall[0] <= begin + number / RATE < stall[1]
        latencies.append(min(wait_s, TIMEOUT_S) if meets else 0.001)
    latencies.sort()
    failed = sum(latency >= TIMEOUT_S for latency in latencies)
    return failed / len(latencies), latencies[int(len(latencies) * 0.95)], latencies[-1]


def stalled_run(stub: Stub, directory: Path, *arguments: str) -> tuple[Run, float, float]:
    """A run in whose middle the API is frozen for 10 s: (run, stall's begin, stall's end)."""
    with swarm(directory, stub.url, *arguments, "--probes", "none", "--read-timeout", "5") as running:
        running.joined()
        running.at(8)
        begin = time.monotonic()
        stub.freeze()
        time.sleep(STALL_S)
        stub.thaw()
        end = time.monotonic()
        running.at(60)
        run = running.stop()
    t0 = running._began
    return run, begin - t0, end - t0


@pytest.mark.slow
def test_a_ten_second_stall_is_felt_as_theory_says(stub: Stub, tmp_path: Path) -> None:
    run, begin, end = stalled_run(stub, tmp_path, "--arrivals", str(RATE), "--spacing", "even")
    latencies, outcomes = run.latencies(), run.outcomes()
    total = count(latencies)
    started = run.workers()[0].t
    error_rate, p95, longest = theory(started, started + total / RATE, (begin, end))
    observed = (outcomes["failed"] + outcomes["unknown"]) / total
    sys.stdout.write(f"\ntheory: {error_rate:.2%} errors, p95 {p95:.3f} s; ours: {observed:.2%}, p95 ")
    sys.stdout.write(f"{quantile(latencies, 0.95):.3f} s\n")
    assert observed == pytest.approx(error_rate, abs=0.005)
    assert quantile(latencies, 0.95) == pytest.approx(p95, rel=0.05)
    assert quantile(latencies, 1.0) == pytest.approx(longest, rel=0.05)
    assert abs(sum(row.planned for row in run.generator()) - total) <= 1
