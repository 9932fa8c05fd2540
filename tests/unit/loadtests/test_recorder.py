import time

import pytest

from loadtests.http.response import Response
from loadtests.http.traffic import FROZEN_S, Traffic
from loadtests.outcomes import Verdict, wrong_content
from loadtests.recorder import MAX_OPS, MAX_REASONS, OTHER, Recorder
from results.history import Clock, GeneratorSecond, OpSecond
from results.latency import count, quantile


class Bench:
    """A recorder and a hand to feed it."""

    def __init__(self) -> None:
        self.clock, self.traffic = Clock(), Traffic()
        self.recorder = Recorder(self.clock, self.traffic, "w3", arrival="open")

    def op(
        self, name: str, intended: float, latency: float, verdict: Verdict | None = None, **facts: bool
    ) -> None:
        response = Response("GET", name, name, "feed_reader")
        response.intended = response.sent_at = self.clock.t0 + intended
        response.sent_at += 0.25 * latency
        response.ended_at = response.intended + latency
        response.verdict = verdict or response.verdict
        response.stale = facts.get("stale", False)
        self.recorder.on_request("GET", name, latency * 1000, response=response)

    def take(self) -> list[OpSecond]:
        return [row for row in self.recorder.take() if isinstance(row, OpSecond)]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_op_belongs_to_the_second_of_its_intended_start(bench: Bench) -> None:
    bench.op("/feed", intended=3.9, latency=5.0)
    (row,) = bench.take()
    assert (row.t, row.worker, row.op, row.user) == (3, "w3", "GET /feed", "feed_reader")
    assert quantile(row.ok, 1.0) == pytest.approx(5.0, rel=0.01)
    assert quantile(row.service, 1.0) == pytest.approx(3.75, rel=0.01)


def test_outcomes_are_kept_apart_and_reasons_counted(bench: Bench) -> None:
    bench.op("/feed", 0, 0.01, stale=True)
    bench.op("/feed", 0, 0.02, Verdict("failed", "503 shed", shed=True))
    bench.op("/feed", 0, 0.03, wrong_content("an item twice"))
    bench.op("/feed", 0, 5.0, Verdict("unknown", "timeout"))
    (row,) = bench.take()
    assert [count(part) for part in (row.ok, row.failed, row.unknown)] == [1, 2, 1]
    assert (row.shed, row.stale) == (1, 1)
    assert row.why == {"503 shed": 1, "wrong content: an item twice": 1, "timeout": 1}


def test_what_was_taken_is_not_given_again(bench: Bench) -> None:
    bench.op("/feed", 0, 0.01)
    assert len(bench.take()) == 1
    assert bench.take() == []


def test_memory_is_bounded_whatever_the_names(bench: Bench) -> None:
    for number in range(MAX_OPS + 50):
        bench.op(f"/made/up/{number}", 0, 0.01)
    rows = bench.take()
    assert len(rows) == MAX_OPS + 1
    assert sum(count(row.ok) for row in rows if row.op == "GET (other)") == 50


def test_ops_of_other_clients_are_counted_as_locust_measured_them(bench: Bench) -> None:
    bench.recorder.on_request("GET", "/theirs", 120.0, response=object())
    bench.recorder.on_request("GET", "/theirs", 130.0, exception=ConnectionError("x"))
    row, generator = bench.recorder.take()
    assert isinstance(row, OpSecond)
    assert isinstance(generator, GeneratorSecond)
    assert (count(row.ok), count(row.failed), row.why) == (1, 1, {"ConnectionError": 1})
    assert (generator.planned, generator.sent) == (2, 2)


def test_the_generators_own_row_has_what_was_planned_sent_and_late(bench: Bench) -> None:
    bench.traffic.planned += 3
    bench.traffic.begin(0.5)
    bench.traffic.begin(0.01)
    bench.traffic.begin(None)
    bench.traffic.never_sent(1)
    row = bench.recorder.take()[-1]
    assert isinstance(row, GeneratorSecond)
    assert (row.planned, row.sent, row.late, row.abandoned, row.in_flight) == (4, 3, 1, 1, 3)
    assert count(row.slip) == 2
    assert row.rss_mib > 1


def test_a_process_that_stood_still_spoils_what_it_measured_meanwhile() -> None:
    traffic, now = Traffic(), time.monotonic()
    assert not traffic.is_spoiled(now - 100, now)  # no test runs: nobody takes the pulse
    traffic.beat(now)
    assert not traffic.is_spoiled(now, now + FROZEN_S / 2)
    assert traffic.is_spoiled(now, now + FROZEN_S * 2)
    traffic.beat(now + 10)
    assert traffic.is_spoiled(now + 5, now + 10.1)
    assert not traffic.is_spoiled(now + 10.05, now + 10.1)


def test_reasons_are_bounded_too(bench: Bench) -> None:
    for number in range(MAX_REASONS + 20):
        bench.op("/feed", 0, 0.01, Verdict("failed", f"made up {number}"))
    (row,) = bench.take()
    assert len(row.why) == MAX_REASONS + 1
    assert row.why[OTHER] == 20
