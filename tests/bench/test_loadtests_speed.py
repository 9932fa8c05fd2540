"""What the swarm costs: requests per core, schedule slip, two processes against one, memory, seeding.

The server has one core and the generator the other, where there are two. Neighbours steal CPU time,
so rates are given per core: requests per second of CPU time, medians of interleaved rounds.
"""

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from results.history import SERIES, GeneratorSecond, SeriesRow, read_rows
from results.latency import merge, quantile
from tests.bench.table import Row, publish
from tests.integration.loadtests.harness import free_port, wait_for

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
ROUNDS = 3
MEMORY_S = float(os.environ.get("FEEDSTORM_BENCH_MEMORY_S", "600"))
CORES = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Measured:
    """`per_core` is in requests per second of CPU time, `slip_p99_ms` over all arrivals."""

    rate: float
    per_core: float
    slip_p99_ms: float
    seconds: list[GeneratorSecond]


@contextmanager
def trivial_server() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.trivial_server", str(port)], cwd=ROOT)
    os.sched_setaffinity(process.pid, {CORES[0]})
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: fetches(url), "the server's first answer", within_s=30)
        yield url
    finally:
        process.kill()
        process.wait(10)


def fetches(url: str) -> bool:
    import httpx

    try:
        return httpx.get(f"{url}/healthz", timeout=1).is_success
    except httpx.HTTPError:
        return False


def locust(url: str, *arguments: str, pinned: bool = True, within_s: float = 120) -> str:
    """Run Locust and return what it printed."""
    command = [sys.executable, "-m", "locust", "--headless", "--only-summary", "-L", "WARNING", "--host", url]
    if pinned:
        command = ["taskset", "-c", str(CORES[-1]), *command]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=within_s, check=False
    )
    return done.stdout + done.stderr


def bare_fast_http_user(url: str) -> float:
    """Requests per core of the yardstick, as it measures itself."""
    output = locust(url, "-f", "tests/bench/fast_http_locustfile.py", "-u", "50", "-r", "50", "-t", "6")
    found = re.search(r"per core: ([\d.]+)", output)
    assert found, output
    return float(found[1])


def ours(
    url: str, directory: Path, rate: float, length_s: float, *arguments: str, pinned: bool = True
) -> Measured:
    """Our user classes in their usual mix, with ledger, histograms and open arrivals."""
    load = ["--arrivals", str(round(rate)), "-t", f"{length_s:g}", "--probes", "none", "--drain", "2"]
    load += ["--run-dir", str(directory), "--max-in-flight", "64", *arguments]
    output = locust(url, "-f", "loadtests/locustfile.py", *load, pinned=pinned, within_s=length_s + 120)
    rows = [row for row in read_rows(directory / SERIES, SeriesRow) if isinstance(row, GeneratorSecond)]
    last = max((row.t for row in rows), default=0)
    middle = [row for row in rows if 1 <= row.t < last - 1 and row.sent]
    assert middle, output
    assert sum(row.cpu for row in middle) > 0, output
    workers = len({row.worker for row in middle})
    sent, cpu = sum(row.sent for row in middle), sum(row.cpu for row in middle)
    slip = quantile(merge(row.slip for row in middle), 0.99) or 0.0
    return Measured(workers * sent / len(middle), sent / cpu, slip * 1000, middle)


@pytest.fixture(autouse=True)
def quiet_machine() -> None:
    """Numbers from a busy machine are worse than none."""
    load = os.getloadavg()[0]
    if load > len(CORES):
        pytest.skip(f"this machine is too busy to measure: load {load:.1f} on {len(CORES)} cores")


@pytest.fixture
def server() -> Iterator[str]:
    with trivial_server() as url:
        yield url


def test_requests_per_core_slip_and_two_processes(server: str, tmp_path: Path) -> None:
    yardstick, swarm = [], []
    for round_ in range(ROUNDS):
        yardstick.append(bare_fast_http_user(server))
        swarm.append(ours(server, tmp_path / f"one{round_}", 2.5 * yardstick[-1], 6).per_core)
    capacity, bare = statistics.median(swarm), statistics.median(yardstick)
    half = ours(server, tmp_path / "half", 0.5 * capacity, 8)
    one = ours(server, tmp_path / "p1", 0.5 * capacity, 6, *processes(1), pinned=False)
    two = ours(server, tmp_path / "p2", 1.0 * capacity, 6, *processes(2), pinned=False)
    publish(
        "loadtests",
        Row("requests per core, ours / bare FastHttpUser", capacity / bare, ">=", 2.0, "x",
            f"{capacity:.0f} against {bare:.0f} per CPU second"),
        Row("schedule slip p99 at half of the capacity", half.slip_p99_ms, "<", 10.0, "ms",
            f"at {half.rate:.0f} ops/s"),
        Row("two processes against one, by CPU time", 2 * two.per_core / one.per_core, ">=", 1.8, "x",
            f"{two.rate:.0f} and {one.rate:.0f} ops/s sent"),
    )  # fmt: skip
    assert capacity >= 2 * bare
    assert half.slip_p99_ms < 10
    assert 2 * two.per_core >= 1.8 * one.per_core


def processes(count: int) -> list[str]:
    port = str(free_port())
    bind = ["--master-bind-host", "127.0.0.1", "--master-bind-port", port, "--master-port", port]
    return ["--processes", str(count), *bind]


def test_memory_is_flat_at_full_rate(server: str, tmp_path: Path) -> None:
    full = ours(server, tmp_path / "full", 1e5, 5).rate
    run = ours(server, tmp_path / "long", 0.8 * full, MEMORY_S)
    third = len(run.seconds) // 3
    early = statistics.median(row.rss_mib for row in run.seconds[third // 2 : third])
    late = statistics.median(row.rss_mib for row in run.seconds[-third // 2 :])
    publish(
        "loadtests",
        Row("memory growth at full rate, last third against first", late - early, "<=", 5.0, "MiB",
            f"{early:.0f} MiB, {run.rate:.0f} ops/s for {MEMORY_S:.0f} s"),
    )  # fmt: skip
    assert late - early <= 5


def test_a_million_follows_are_printed_in_well_under_a_minute() -> None:
    people = "users=100000,celebrities=2,celebrity_followers=20000,follows_mean=10"
    command = [sys.executable, "-m", "loadtests.population", people]
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=300, check=True)
    lines, seconds = done.stdout.count(b"\n"), time.monotonic() - began
    publish("loadtests", Row("100,000 users and 1M follows printed", seconds, "<", 60, "s", f"{lines} lines"))
    assert lines > 1_000_000
    assert seconds < 60
