"""The three drills that have to pass on real containers."""

import json
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.docker.running import Running

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]

TRIES = 3
MUCH_STOLEN = 0.01


@pytest.mark.parametrize("name", ["mongo-primary-kill", "redis-kill", "kafka-kill"])
def test_the_drill_passes_on_docker(up: Running, name: str, tmp_path: Path) -> None:
    done, verdict = on_a_machine_that_can_measure(up, name, tmp_path)
    print(done.stdout)  # noqa: T201  # the verdict's table belongs into the test's output
    assert done.returncode == 0, done.stdout + done.stderr
    assert (verdict["verdict"], verdict["stack"]) == ("pass", "docker")
    assert verdict["audit"]["lost"] == 0
    logs = {log.name for log in (tmp_path / "latest" / "logs").iterdir()}
    assert {"mongo1.log", "redis.log", "kafka.log", "api1.log", "toxiproxy.log"} <= logs


def on_a_machine_that_can_measure(
    up: Running, name: str, runs: Path
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Two cores for a dozen containers and the load generator are sometimes too few: the drill says so. And
    what a host takes from a virtual machine is not there for the stack: a failure then is tried again."""
    for _ in range(TRIES):
        before = psutil.cpu_times()
        done = up.feedstorm("drill", name, "--runs", str(runs))
        verdict = json.loads((runs / "latest" / "verdict.json").read_text())
        too_busy = [why for why in verdict["why"] if "the load generator was saturated" in why]
        stolen = stolen_share(before, psutil.cpu_times())
        if not too_busy and (done.returncode == 0 or stolen < MUCH_STOLEN):
            return done, verdict
        print(f"{name}: {stolen:.1%} of the CPU was stolen meanwhile; again\n{done.stdout}")  # noqa: T201
    if not too_busy:
        return done, verdict
    pytest.skip(f"this machine is too busy to measure: {too_busy[0]}")


def stolen_share(before: Any, after: Any) -> float:
    """Of all CPU time between two looks, what the host gave to others; 0 where that is not told."""
    passed = sum(after) - sum(before)
    return (getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)) / passed if passed else 0.0
