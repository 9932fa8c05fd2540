"""Soak, game day and line-up from beginning to end, as their users start them. Minutes each, so slow.

What is looked at here is that the command goes its whole way and leaves what it promises. Verdicts
depend on how busy the machine is, so every verdict is accepted, and none but a verdict.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.commands.load import TARGETS
from compose.waiting import wait_until
from results.history import GAUGES, Gauge, read_rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
VERDICTS = (0, 1, 3)
WITHIN_S = 800

SHORT = """
drill: short
question: Do feeds go on without Redis?
load: {arrivals: 10/s}
population: {users: 200, celebrities: 1, celebrity_followers: 100, follows_mean: 5}
timeline: [{at: 12s, inject: kill, on: redis, for: 6s}]
phases: {warmup: 4s, baseline: 8s, recovery: 8s}
targets: [feed.error_rate < 50% in fault]
proof: [an op failed while redis was down]
invariants: [no_acknowledged_write_lost, no_write_applied_twice]
"""
PLAN = """
gameday: tiny
title: A tiny game day
briefing: Twice the same.
stations:
  - {drill: short.yaml, briefing: Off it goes., expect: [it holds]}
  - {drill: short.yaml, briefing: Once more., seed: 2}
"""


class Place:
    """A directory with a stack of its own, and the command line in it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.runs = directory, directory / "results" / "runs"
        self._started: list[subprocess.Popen[str]] = []
        (directory / "short.yaml").write_text(SHORT)
        (directory / "plan.yaml").write_text(PLAN)

    def start(self, *args: str) -> "subprocess.Popen[str]":
        env = {**os.environ, "FEEDSTORM_HOME": str(self.directory / "home")}
        process = subprocess.Popen(
            [sys.executable, "-m", "chaos.cli", *args],
            cwd=self.directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def leave(self) -> None:
        """Whatever a test that failed has left running is ended, and so is the stack."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.run("down")

    def run(self, *args: str) -> tuple[int, str]:
        process = self.start(*args)
        output, errors = process.communicate(timeout=WITHIN_S)
        return process.returncode, output + errors

    def record(self, pattern: str) -> Any:
        """The one file of that name that was left, decoded."""
        (file,) = self.runs.glob(pattern)
        return json.loads(file.read_text())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    there = Place(tmp_path)
    yield there
    there.leave()


def test_a_soak_looks_for_drift(place: Place) -> None:
    code, output = place.run(
        "soak", "--for", "3m", "--every", "60s", "kill", "redis", "--hold", "8s", "--arrivals", "10/s"
    )
    assert code in VERDICTS, output
    verdict = place.record("*_soak/verdict.json")
    trends = {(drift["member"], drift["name"]): drift["trend"] for drift in verdict["drifts"]}
    assert {"api1", "store", "redis", "runner"} <= {member for member, _ in trends}
    assert {"rss_mib", "open_files", "kafka_lag"} <= {name for _, name in trends}
    assert verdict["faults"]
    assert "<h2>Drift</h2>" in (place.runs / "latest" / "report.html").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
async def test_a_soak_that_is_stopped_leaves_a_full_report(place: Place, number: signal.Signals) -> None:
    process = place.start("soak", "--for", "1h", "--arrivals", "10/s", "--sample-every", "1s")

    def sampled() -> bool:
        gauges = list(place.runs.glob("*_soak/gauges.jsonl"))
        phases = [file.read_text().count('"baseline"') for file in place.runs.glob("*_soak/events.jsonl")]
        return bool(gauges) and bool(phases) and phases[0] > 0

    await wait_until(sampled, "the soak's baseline", within_s=600, every_s=0.5)
    process.send_signal(number)
    process.communicate(timeout=WITHIN_S)
    if number is signal.SIGKILL:
        code, output = place.run("report")
        assert code == 0, output
        assert "the run has no end: its runner was killed" in output
    else:
        assert process.returncode == 130
    page = (place.runs / "latest" / "report.html").read_text()
    assert "<h2>Drift</h2>" in page
    assert place.record("*_soak/verdict.json")["verdict"] == "invalid"


def test_a_rehearsal_of_a_game_day(place: Place) -> None:
    code, output = place.run("gameday", "plan.yaml", "--auto")
    assert code in VERDICTS, output
    day = place.record("*_gameday_tiny/gameday.json")
    assert day["ending"] == "done"
    assert [stop["seed"] for stop in day["stops"]] == [1, 2]
    for stop in day["stops"]:
        assert stop["verdict"] in ("pass", "fail", "invalid"), stop["why"]
        assert (place.runs / stop["run"] / "report.html").is_file()


def test_runs_side_by_side(place: Place) -> None:
    code, output = place.run("drill", "short.yaml", "--strategies", "push,hybrid")
    assert code in VERDICTS, output
    rows = place.record("*_lineup_short/lineup.json")["rows"]
    for row in rows:  # what was posted to count the costs was not applied twice
        findings = json.loads((place.runs / row["run"] / "verdict.json").read_text())["invariants"]
        assert {each["invariant"]: each["ok"] for each in findings}["no_write_applied_twice"] is True
    costs = {row["variant"]: row["costs"] for row in rows}
    assert list(costs) == ["push", "hybrid"]
    if all(costs.values()):  # a machine that is too busy gives no counts, and says so
        assert costs["push"]["per_celebrity_post"] > 2 * costs["hybrid"]["per_celebrity_post"]


async def test_load_alone_gets_a_verdict_and_a_stop_leaves_a_report(place: Place) -> None:
    for command in (("up",), ("seed", "--users", "200", "--celebrity-followers", "100")):
        code, output = place.run(*command)
        assert code == 0, output
    code, output = place.run("swarm", "--for", "10s", "--arrivals", "10/s", "--json")
    assert code in VERDICTS, output
    verdict = place.record("*_swarm/verdict.json")
    assert [target["target"] for target in verdict["targets"]] == list(TARGETS)
    (run,) = place.runs.glob("*_swarm")
    gauges = {(gauge.member, gauge.name) for gauge in read_rows(run / GAUGES, Gauge)}
    assert {("fanout", "kafka_lag"), ("workers", "feed_outbox_pending")} <= gauges
    process = place.start("swarm", "--for", "5m", "--arrivals", "10/s")

    def began() -> bool:
        records = [file.read_text() for file in place.runs.glob("*_swarm/events.jsonl")]
        return len(records) == 2 and all('"warmup"' in record for record in records)

    await wait_until(began, "the second load", within_s=60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in (place.runs / "latest" / "report.md").read_text()
