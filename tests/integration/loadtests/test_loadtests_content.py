"""What a user would notice is an error, also with status 200; and several instances are several instances."""

import textwrap
from pathlib import Path

import pytest

from results.latency import count
from tests.integration.loadtests.harness import Stub, free_port, swarm


def test_wrong_feeds_are_failures_with_reasons_of_their_own(stub: Stub, tmp_path: Path) -> None:
    wrongs = {
        "other user": "another user's feed",
        "twice": "an item twice",
        "order": "wrong order",
        "empty": "an empty feed for someone with posts",
    }
    load = ("--arrivals", "60", "--mix", "feed_reader:3,author:2", "--probes", "none")
    with swarm(tmp_path, stub.url, *load) as running:
        running.until(lambda run: run.ended > 150)
        for behaviour, what in wrongs.items():
            stub.behave(wrong_feed=behaviour)
            running.until(lambda run, why=f"wrong content: {what}": run.why()[why] > 0)  # type: ignore[misc]
        run = running.stop()
    assert set(run.why()) == {f"wrong content: {what}" for what in wrongs.values()}
    assert run.outcomes()["failed"] == sum(run.why().values())


def test_a_shed_request_is_counted_as_failed_and_on_its_own(stub: Stub, tmp_path: Path) -> None:
    stub.behave(fail_every=4, fail_status=503, retry_after=True)
    with swarm(tmp_path, stub.url, "--arrivals", "40", "--probes", "none") as running:
        running.until(lambda run: run.outcomes()["shed"] > 5)
        run = running.stop()
    outcomes = run.outcomes()
    assert outcomes["shed"] == outcomes["failed"] == run.why()["503 shed"]


def test_a_write_whose_connection_breaks_is_unknown_and_sent_once(stub: Stub, tmp_path: Path) -> None:
    stub.behave(drop_every=3)
    load = ("--arrivals", "40", "--mix", "author:1,feed_reader:1", "--probes", "none")
    with swarm(tmp_path, stub.url, *load) as running:
        running.until(lambda run: run.outcomes()["unknown"] > 3)
        run = running.stop()
    assert run.sent == stub.total
    broken = [row for row in run.ops() if row.why.get("connection closed")]
    assert broken
    assert all(bool(row.unknown) != row.op.startswith("GET") for row in broken)
    assert any(entry.outcome == "unknown" for entry in run.ledger())


def test_a_dead_instance_is_passed_over_and_that_is_counted(stub: Stub, tmp_path: Path) -> None:
    hosts = f"http://127.0.0.1:{free_port()},{stub.url}"
    with swarm(tmp_path, hosts, "--arrivals", "30", "--probes", "none") as running:
        running.until(lambda run: run.ended > 30)
        run = running.stop()
    assert run.outcomes()["failed"] == run.outcomes()["unknown"] == 0
    assert run.sent == stub.total
    assert run.why()["failover: connection refused"] == pytest.approx(run.sent / 2, abs=1 + run.abandoned)


def test_peoples_own_users_are_measured_as_ours_are(stub: Stub, tmp_path: Path) -> None:
    locustfile = tmp_path / "own.py"
    locustfile.write_text(
        textwrap.dedent(
            """
            from locust import FastHttpUser, constant, task
            from loadtests import swarm
            from loadtests.http.user import RawHttpUser

            swarm.attach()

            class Ours(RawHttpUser):
                wait_time = constant(0.05)

                @task
                def judge(self):
                    with self.client.get("/healthz", name="/judged", catch_response=True) as response:
                        if response.json()["ok"]:
                            response.failure("too good")

                @task
                def look(self):
                    assert self.client.get("/posts/123e4567-e89b-12d3-a456-426614174000").status_code == 404

            class Theirs(FastHttpUser):
                wait_time = constant(0.05)

                @task
                def look(self):
                    self.client.get("/healthz", name="/theirs")
            """
        )
    )
    load = ("-u", "6", "-r", "10", "--probes", "none")
    with swarm(tmp_path, stub.url, *load, locustfile=locustfile) as running:
        running.until(lambda run: len({row.op for row in run.ops()}) == 3)
        run = running.stop()
    rows = {row.op: row for row in run.ops()}
    assert {"GET /judged", "GET /posts/{id}", "GET /theirs"} <= set(rows)
    judged = rows["GET /judged"]
    assert judged.why == {"too good": count(judged.failed)}
    assert rows["GET /posts/{id}"].user == "ours"
    assert {row.arrival for row in run.generator()} == {"closed"}
    assert "closed loop" in run.output
    assert run.planned == run.ended + run.abandoned
