"""Terminal, CSV, JSON, our rows and the server's own count agree; what is cut off is listed as abandoned."""

import csv
import json
import re
from pathlib import Path

from tests.integration.loadtests.harness import Run, Stub, run_swarm, swarm


def locusts_own_count(run: Run) -> dict[str, int]:
    """How many requests each of Locust's own outputs has."""
    with (run.directory / "locust_stats.csv").open() as file:
        total = next(row for row in csv.DictReader(file) if row["Name"] == "Aggregated")
    entries = json.loads((run.directory / "locust.json").read_text())
    return {"csv": int(total["Request Count"]), "json": sum(entry["num_requests"] for entry in entries)}


def outputs(directory: Path) -> tuple[str, ...]:
    directory.mkdir(parents=True, exist_ok=True)
    return ("--csv", str(directory / "locust"), "--json-file", str(directory / "locust"))


def test_after_a_drain_every_output_agrees_with_the_server(stub: Stub, tmp_path: Path) -> None:
    stub.behave(delay_s=1.0)
    load = ("--arrivals", "30", "-t", "8", "--drain", "12")
    run = run_swarm(tmp_path, stub.url, *load, *outputs(tmp_path))
    assert run.sent == stub.total > 30
    assert run.ended + run.abandoned == run.planned
    assert locusts_own_count(run) == {"csv": run.ended, "json": run.ended}
    assert f"sent {run.sent}" in run.output
    assert run.workers()[-1].state == "done"
    assert run.workers()[-1].sent == run.sent


def test_without_a_drain_what_is_in_flight_is_listed_and_kept_out_of_both(stub: Stub, tmp_path: Path) -> None:
    stub.behave(delay_s=2.0)
    load = (
        "--arrivals",
        "40",
        "--mix",
        "author:1",
        "--drain",
        "0.1",
        "--read-timeout",
        "60",
        "--probes",
        "none",
    )
    with swarm(tmp_path, stub.url, *load, *outputs(tmp_path)) as running:
        running.until(lambda run: run.ended > 30)
        run = running.stop()
    assert run.abandoned > 10
    assert run.sent == stub.total
    assert run.ended + run.abandoned == run.planned
    assert locusts_own_count(run) == {"csv": run.ended, "json": run.ended}
    assert re.search(rf"abandoned: {run.abandoned}\b", run.output)
    posts = [entry for entry in run.ledger() if entry.kind == "post"]
    cut_off = [entry for entry in posts if entry.abandoned]
    assert cut_off
    assert all(entry.outcome == "unknown" and entry.key for entry in cut_off)
    assert all(entry.outcome == "ok" and entry.id for entry in posts if not entry.abandoned)
    assert len(posts) == stub.received()["POST /posts$"]


def test_a_second_signal_ends_the_drain(stub: Stub, tmp_path: Path) -> None:
    stub.behave(delay_s=60.0)
    load = ("--arrivals", "20", "--drain", "60", "--read-timeout", "60", "--probes", "none")
    with swarm(tmp_path, stub.url, *load) as running:
        running.until(lambda run: run.sent > 5)
        running.process.terminate()
        running.at(running.now + 1)
        run = running.stop(within_s=20)
    assert run.abandoned > 0
    assert run.workers()[-1].state == "done"
