from hypothesis import given
from hypothesis import strategies as st

from loadtests.summary import Summary
from results.history import GeneratorSecond, OpSecond
from results.latency import Buckets, record


def histogram(*seconds: float) -> Buckets:
    buckets: Buckets = {}
    for value in seconds:
        record(buckets, value)
    return buckets


def test_ops_are_shown_with_their_outcomes_and_probes_apart() -> None:
    summary = Summary()
    summary.add(OpSecond(0, "w0", "GET /feed", "feed_reader", ok=histogram(0.01, 0.02)))
    summary.add(OpSecond(1, "w1", "GET /feed", "feed_reader", failed=histogram(0.5), why={"503 shed": 1}))
    summary.add(OpSecond(1, "w1", "GET /feed", "staleness_probe", ok=histogram(0.01)))
    text = "\n".join(summary.lines())
    assert "GET /feed (probe)" in text
    assert "1 x GET /feed: 503 shed" in text
    assert summary.ended == 4


@given(st.lists(st.floats(0.0001, 30), min_size=1, max_size=50))
def test_percentiles_never_go_down(seconds: list[float]) -> None:
    summary = Summary()
    summary.add(OpSecond(0, "w0", "GET /x", ok=histogram(*seconds)))
    line = next(line for line in summary.lines() if line.startswith("GET /x"))
    shown = [float(part) for part in line.split("  ")[-1].split(" / ")]
    assert shown == sorted(shown)


def test_a_closed_loop_says_so_beside_its_percentiles() -> None:
    summary = Summary()
    summary.add(GeneratorSecond(0, "w0", arrival="closed", planned=3, sent=3))
    assert "closed loop" in summary.lines()[0]
    assert "closed loop: planned 3, sent 3" in summary.lines()[-1]


def test_a_rate_that_was_not_reached_is_told_but_chance_is_not() -> None:
    summary = Summary()
    summary.add(GeneratorSecond(0, "w0", planned=9, sent=9, slip={500: 900}))
    assert summary.falls_short(900) == ""
    assert summary.falls_short(1000) == ""
    assert "1300 arrivals were asked for, 900 were sent" in summary.falls_short(1300)


def test_a_generator_without_cpu_to_spare_is_named() -> None:
    summary = Summary()
    summary.add(GeneratorSecond(0, "w1", planned=9, sent=9, cpu=0.99))
    assert "w1 had no CPU to spare" in summary.lines()[-1]
