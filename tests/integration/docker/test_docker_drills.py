"""The three drills that have to pass on real containers."""

import json
from pathlib import Path

import pytest

from tests.integration.docker.running import Running

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("name", ["mongo-primary-kill", "redis-kill", "kafka-kill"])
def test_the_drill_passes_on_docker(up: Running, name: str, tmp_path: Path) -> None:
    done = up.feedstorm("drill", name, "--runs", str(tmp_path))
    print(done.stdout)  # noqa: T201  # the verdict's table belongs into the test's output
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads((tmp_path / "latest" / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["stack"]) == ("pass", "docker")
    assert verdict["audit"]["lost"] == 0
    logs = {log.name for log in (tmp_path / "latest" / "logs").iterdir()}
    assert {"mongo1.log", "redis.log", "kafka.log", "api1.log", "toxiproxy.log"} <= logs
