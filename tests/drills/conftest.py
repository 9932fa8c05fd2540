"""Short drills with the real command on the real embedded stack, as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

SHORT = """\
drill: short-kill
question: Does the main drill hold together?
load: {arrivals: 30/s}
population: {users: 300, celebrities: 1, celebrity_followers: 150, follows_mean: 6}
stack: {election_timeout: 3s}
timeline:
  - {at: 8s, inject: kill, on: mongo:primary, for: 6s}
phases: {warmup: 2s, baseline: 6s, recovery: 8s}
targets:
  - feed.error_rate < 5% in fault
  - writes.recovery_time < 15s
invariants: [no_acknowledged_write_lost, no_duplicate_in_feed]
proof:
  - a write failed while mongo:primary was down
  - a new primary was elected
"""
REPOSITORY = Path(__file__).parents[2]


@dataclass
class Finished:
    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """What was said on standard error, which for a user's mistake is one line."""
        return self.err.strip()


@dataclass
class Shell:
    """Runs `feedstorm` in a directory of its own, with a home of its own."""

    directory: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def runs(self) -> Path:
        return self.directory / "results" / "runs"

    def write(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text)
        return name

    def start(self, *arguments: str, module: str = "chaos.cli") -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=self.directory,
            env={
                **os.environ,
                "PYTHONPATH": str(REPOSITORY),
                "FEEDSTORM_HOME": str(self.home),
                **self.environ,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, module: str = "chaos.cli", within_s: float = 300) -> Finished:
        with self.start(*arguments, module=module) as process:
            try:
                out, err = process.communicate(timeout=within_s)
            except subprocess.TimeoutExpired:
                process.terminate()  # it heals and takes its stack down
                out, err = process.communicate(timeout=60)
                raise AssertionError(f"{arguments} took longer than {within_s:g} s:\n{err}") from None
        assert "Traceback" not in err, err
        return Finished(process.returncode, out, err)

    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.runs / "latest" / "verdict.json").read_text())
        return found

    def events(self) -> list[dict[str, Any]]:
        lines = (self.runs / "latest" / "events.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def leases(self) -> list[Path]:
        return list((self.home / "leases").glob("*.json"))

    def members_not_running(self) -> list[str]:
        found = json.loads(self.run("status", "--json").out)
        return [member["name"] for member in found["members"] if member["state"] != "running"]

    def processes(self) -> list[str]:
        """Command lines of everything that belongs to this home, the reaper left out."""
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            line = " ".join(process.info["cmdline"] or ())
            is_ours = str(self.home) in line or str(self.runs) in line
            if is_ours and "chaos.reaper" not in line and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(line)
        return found


def wait_for_line(process: "subprocess.Popen[str]", words: str, within_s: float = 120) -> None:
    """Read standard error until a line has these words."""
    assert process.stderr is not None
    deadline = time.monotonic() + within_s
    seen = []
    for line in process.stderr:
        seen.append(line)
        if words in line:
            return
        assert time.monotonic() < deadline, f"'{words}' did not come within {within_s:g} s:\n{''.join(seen)}"
    raise AssertionError(f"'{words}' never came:\n{''.join(seen)}")


def finish(process: "subprocess.Popen[str]", number: signal.Signals | None = None) -> Finished:
    if number is not None:
        process.send_signal(number)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Finished(process.returncode, out, err)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A place where no stack is up; whatever is up at the end is taken down."""
    place = Shell(tmp_path)
    try:
        yield place
    finally:
        place.run("down")


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A place where the stack is up and stays up from drill to drill."""
    place = Shell(tmp_path_factory.mktemp("standing"))
    started = place.run("up", "--election-timeout", "3s", "--set", "FEED_CELEBRITY_THRESHOLD=120")
    assert started.code == 0, started.err
    try:
        yield place
    finally:
        place.run("down")
