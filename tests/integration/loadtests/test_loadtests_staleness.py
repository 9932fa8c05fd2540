"""Staleness is measured on the prober's clock, and what never arrives is a breach."""

from pathlib import Path

from results.history import StalenessSample
from tests.integration.loadtests.harness import Stub, swarm


def of_feed(samples: list[StalenessSample], begin: float, end: float) -> list[StalenessSample]:
    """Samples of the two feed paths whose write was acknowledged in [begin, end)."""
    return [s for s in samples if s.path in ("push", "celebrity") and begin <= s.t < end]


def test_delays_clocks_and_lost_posts(stub: Stub, tmp_path: Path) -> None:
    phases: dict[str, tuple[float, float]] = {}

    with swarm(tmp_path, stub.url, "--arrivals", "5", "--probe-deadline", "3") as running:
        running.joined()

        def phase(name: str, length_s: float, **behaviour: float) -> None:
            stub.behave(skew_s=0.0, fanout_s=0.0, hide_every=0)
            stub.behave(**behaviour)
            begin = running.now
            running.at(begin + length_s)
            phases[name] = (begin + 0.2, running.now - 0.2)

        phase("clock ahead", 3.5, skew_s=3.0)
        phase("clock behind", 3.5, skew_s=-3.0)
        phase("slow fan-out", 4, fanout_s=1.5)
        phase("lost", 4, hide_every=1)
        run = running.stop()

    samples = run.staleness()
    for name in ("clock ahead", "clock behind"):
        seen = of_feed(samples, *phases[name])
        assert len(seen) >= 4
        assert all(s.outcome == "seen" and 0 <= (s.staleness_s or -1) < 1.0 for s in seen)
    slow = of_feed(samples, *phases["slow fan-out"])
    assert len(slow) >= 4
    assert all(s.outcome == "seen" and 1.49 <= (s.staleness_s or 0) < 2.5 for s in slow)
    lost = of_feed(samples, *phases["lost"])
    assert len(lost) >= 4
    assert all(s.outcome == "breach" and s.staleness_s == 3 for s in lost)
    assert {s.path for s in samples} == {"push", "celebrity", "like_count", "follow_count"}
    assert len({s.reader for s in samples if s.path == "push"}) > 3  # no lucky author
    probes = [entry for entry in run.ledger() if entry.kind == "post"]
    assert {s.subject for s in samples if s.path == "push"} <= {entry.id for entry in probes}
