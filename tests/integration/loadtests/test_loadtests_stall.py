"""A frozen API is felt by every op that should have been sent meanwhile, as theory says; and how plain
Locust would have told it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from results.latency import bucket_of, count, quantile
from tests.integration.loadtests.harness import ROOT, Run, Stub, Swarm, swarm


@dataclass(frozen=True)
class Told:
    """What somebody says about a run: error rate and latencies of all ops."""

    errors: float
    p95_s: float
    max_s: float

    def __str__(self) -> str:
        return f"{self.errors:6.2%} errors, p95 {self.p95_s * 1000:7.1f} ms, max {self.max_s * 1000:7.1f} ms"


def theory(rate: float, begin: float, ops: int, stall: tuple[float, float], timeout_s: float) -> Told:
    """Evenly spaced ops of an open loop, from `begin` on, that meet a stall: each waits for its end, or
    for its own time-out."""
    waits = []
    for number in range(ops):
        start = begin + number / rate
        waits.append(min(stall[1] - start, timeout_s) if stall[0] <= start < stall[1] else 0.001)
    waits.sort()
    failed = sum(wait >= timeout_s for wait in waits)
    return Told(failed / ops, waits[int(ops * 0.95)], waits[-1])


def told_by(run: Run) -> Told:
    latencies, outcomes = run.latencies(), run.outcomes()
    total = count(latencies)
    p95, longest = quantile(latencies, 0.95), quantile(latencies, 1.0)
    assert p95 is not None
    assert longest is not None
    return Told((outcomes["failed"] + outcomes["unknown"]) / total, p95, longest)


def stall(stub: Stub, now: Callable[[], float], length_s: float) -> tuple[float, float]:
    """Freeze the API: (begin, end) in the clock of `now`."""
    begin = now()
    stub.freeze()
    time.sleep(length_s)
    stub.thaw()
    return begin, now()


def stalled(
    stub: Stub, running: Swarm, before_s: float, length_s: float, after_s: float
) -> tuple[Run, tuple[float, float]]:
    running.joined()
    running.at(running.now + before_s)
    bounds = stall(stub, lambda: running.now, length_s)
    running.at(running.now + after_s)
    return running.stop(), bounds


def skip_if_starved(run: Run) -> None:
    """What the generator could not send on time by its own fault cannot be compared with theory."""
    late = sum(row.late for row in run.generator())
    if run.abandoned > 0 or late > 0.01 * run.sent:
        pytest.skip(f"this machine is too busy to measure: {run.abandoned} ops abandoned, {late} sent late")


def open_loop(rate: int, timeout_s: float) -> tuple[str, ...]:
    load = ("--arrivals", str(rate), "--spacing", "even", "--probes", "none", "--drain", "10")
    return (*load, "--read-timeout", str(timeout_s), "--connect-timeout", str(timeout_s))


def test_a_stall_is_felt_by_every_op_that_was_due(stub: Stub, tmp_path: Path) -> None:
    with swarm(tmp_path, stub.url, *open_loop(20, 20)) as running:
        run, bounds = stalled(stub, running, 6, 4, 6)
    skip_if_starved(run)
    observed, ops = told_by(run), count(run.latencies())
    expected = theory(20, run.workers()[0].t, ops, bounds, 20)
    assert observed.errors == 0
    assert observed.p95_s == pytest.approx(expected.p95_s, rel=0.15)
    assert observed.max_s == pytest.approx(expected.max_s, rel=0.1)
    planned, sent = sum(row.planned for row in run.generator()), run.sent
    assert planned == sent == ops + run.abandoned
    felt = sum(n for bucket, n in run.latencies().items() if bucket > bucket_of(500_000))
    assert felt >= 0.8 * 20 * 4


@pytest.mark.slow
def test_a_long_stall_against_theory_and_plain_locust(stub: Stub, tmp_path: Path) -> None:
    """10 s at 50 ops/s with a 5 s time-out, in the middle of a minute."""
    plain_json = tmp_path / "plain"
    command = [sys.executable, "-m", "locust", "-f", "tests/integration/loadtests/plain_locustfile.py"]
    command += ["--headless", "--only-summary", "--host", stub.url, "-u", "10", "-r", "10", "-t", "60"]
    environment = {**os.environ, "PLAIN_RATE_PER_USER": "5"}
    with (
        swarm(tmp_path / "ours", stub.url, *open_loop(50, 5)) as running,
        subprocess.Popen(
            [*command, "--json-file", str(plain_json)], cwd=ROOT, env=environment, stdout=-3, stderr=-3
        ) as plain,
    ):
        run, bounds = stalled(stub, running, 15, 10, 34)
        plain.wait(60)
    observed, ops = told_by(run), count(run.latencies())
    expected = theory(50, run.workers()[0].t, ops, bounds, 5)
    closed = told_by_locust(plain_json.with_suffix(".json"))
    for name, told in (("theory", expected), ("open arrivals", observed), ("plain Locust", closed)):
        sys.stdout.write(f"\n{name:<14} {told}")
    skip_if_starved(run)
    assert observed.errors == pytest.approx(expected.errors, abs=0.005)
    assert observed.p95_s == pytest.approx(expected.p95_s, rel=0.05)
    assert observed.max_s == pytest.approx(expected.max_s, rel=0.05)
    assert closed.errors < expected.errors / 2
    assert closed.p95_s < expected.p95_s / 5


def told_by_locust(path: Path) -> Told:
    (entry,) = json.loads(path.read_text())
    times = sorted((float(ms), n) for ms, n in entry["response_times"].items())
    total, seen, p95 = entry["num_requests"], 0, 0.0
    for ms, n in times:
        seen += n
        if seen >= 0.95 * total:
            p95 = ms
            break
    return Told(entry["num_failures"] / total, p95 / 1000, entry["max_response_time"] / 1000)
