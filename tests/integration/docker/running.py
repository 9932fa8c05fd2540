"""A whole docker stack of its own for the tests: own project, own ports, own home; gone afterwards."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compose.docker_stack import DockerStack
from compose.embedded.ports import free_ports

ROOT = Path(__file__).parents[3]
PORTS = ("API1", "API2", "MONGO1", "MONGO2", "MONGO3", "REDIS", "KAFKA", "TOXIPROXY")


@dataclass(frozen=True)
class Running:
    """A stack that is up, and the environment in which commands find it."""

    home: Path
    env: dict[str, str]

    @property
    def stack(self) -> DockerStack:
        """Attached to anew, as every command does."""
        stack = DockerStack.attach(self.home)
        assert stack is not None
        return stack

    @property
    def project(self) -> str:
        return self.env["COMPOSE_PROJECT_NAME"]

    def feedstorm(self, *arguments: str, within_s: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            env=self.env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )

    def in_container(self, service: str, *argv: str) -> subprocess.CompletedProcess[str]:
        name = f"{self.project}-{service}-1"
        return subprocess.run(
            ["docker", "exec", name, *argv], capture_output=True, text=True, timeout=60, check=False
        )


@contextmanager
def running(home: Path) -> Iterator[Running]:
    name = f"feedstorm-test-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    ports = {f"PORT_{part}": str(port) for part, port in zip(PORTS, free_ports(len(PORTS)), strict=True)}
    env = {**os.environ, **ports, "COMPOSE_PROJECT_NAME": name, "FEEDSTORM_HOME": str(home), "NO_COLOR": "1"}
    up = Running(home, env)
    try:
        done = up.feedstorm("up", "--stack", "docker", within_s=900)
        assert done.returncode == 0, done.stderr
        yield up
    finally:
        up.feedstorm("down", within_s=180)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "chaos.cli", *arguments]
