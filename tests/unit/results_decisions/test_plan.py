"""The arithmetic of the reference model, and where its inputs come from."""

import json
from datetime import UTC, datetime
from pathlib import Path

import bson
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results import plan_inputs
from results.history import Event, Log, OpSecond, Phase, RunInfo, SeriesRow
from results.latency import bucket_of
from results.plan import INPUTS, RULES, Input, Line, amount, plan
from results.plan import given as given_inputs


def line(name: str, *settings: str) -> Line:
    return next(each for each in plan(given_inputs(settings)) if each.name == name)


def test_the_threshold_of_the_model_is_100_000_followers() -> None:
    found = line("celebrity-threshold")
    assert (found.value, found.unit) == (100_000, "followers")
    assert [(each.name, each.source) for each in found.inputs] == [
        ("fan_out_rate", "default"),
        ("staleness_budget", "default"),
    ]


@pytest.mark.parametrize(
    ("name", "settings", "value"),
    [
        ("fan-out-time", ["followers=2_000_000", "fan_out_rate=100000"], 20),
        ("concurrency", ["rate=500", "latency=0.2"], 100),
        ("fallback-budget", ["fallback_rps=100", "api_instances=3"], 300),
        ("fallback-shed", ["fallback_rps=100", "api_instances=1", "feed_rate=400"], 0.75),
        ("fallback-shed", ["fallback_rps=1000", "api_instances=1", "feed_rate=400"], 0),
        ("origin-load", ["media_rate=1000", "hit_rate=0.95"], 50),
        ("follow-storage", ["follows=1000"], 251_000),
        ("array-cost", ["followers=1000000000"], 16 * 1024 * 1024),
    ],
)
def test_each_formula_gives_what_paper_gives(name: str, settings: list[str], value: float) -> None:
    assert line(name, *settings).value == pytest.approx(value)


def test_a_cdn_that_never_hits_costs_more_than_none() -> None:
    assert line("media-with-cdn", "hit_rate=0").value > line("media-without-cdn").value
    assert line("media-with-cdn", "hit_rate=1").value < line("media-without-cdn").value


def test_a_follow_is_as_large_as_bson_says() -> None:
    one, other, now = "a" * 36, "b" * 36, datetime.now(UTC)
    follow = {
        "_id": f"{one}:{other}", "followerId": one, "followeeId": other, "status": "active",
        "createdAt": now, "updatedAt": now,
    }  # fmt: skip
    assert len(bson.encode(follow)) == INPUTS["follow_bytes"].value


def test_the_array_limit_is_near_what_bson_says() -> None:
    fits = int(line("array-limit").value)
    assert 0.99 < len(bson.encode({"followers": ["x" * 36] * fits})) / (16 * 1024 * 1024) < 1.01


def test_every_rule_needs_inputs_that_exist_and_every_input_is_needed() -> None:
    needed = {name for rule in RULES for name in rule.needs}
    assert needed == set(INPUTS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("followers", "is no input: write it like followers=1000000"),
        ("folowers=1", "'folowers' is not a input of the plan: did you mean 'followers'"),
        ("followers=many", "'many' is no number for followers"),
        ("followers=-1", "must be at least 0"),
        ("fan_out_rate=0", "must be positive"),
        ("rate=nan", "must be at least 0"),
        ("hit_rate=95", "hit_rate is a share between 0 and 1"),
    ],
)
def test_a_wrong_input_ends_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        given_inputs([text])


def test_given_beats_measured_beats_default() -> None:
    measured = {"rate": Input("rate", 60, "ops/s", "", "measured in some-run")}
    lines = plan(measured, given_inputs(["latency=0.5"]))
    found = next(each for each in lines if each.name == "concurrency")
    assert found.value == 30
    assert [each.source for each in found.inputs] == ["measured in some-run", "given"]


@given(st.sampled_from(sorted(INPUTS)), st.floats(1e-3, 1e9))
def test_no_input_breaks_the_plan(name: str, value: float) -> None:
    value = min(value, 1.0) if name == "hit_rate" else value
    assert all(each.value >= 0 for each in plan(given_inputs([f"{name}={value!r}"])))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (100_000, "followers", "100,000 followers"),
        (28_100_000_000, "bytes", "28.1 GB"),
        (0.4, "share", "40 %"),
        (46_656, "$", "$ 46,656"),
        (3.5, "s", "3.5 s"),
        (5e15, "bytes", "5000 TB"),
    ],
)
def test_amounts_read_well(value: float, unit: str, text: str) -> None:
    assert amount(value, unit) == text


# -- measured inputs --------------------------------------------------------------------------------


def write_run(runs: Path, name: str, *, ops: int = 10, settings: dict[str, str] | None = None) -> None:
    directory = runs / name
    directory.mkdir(parents=True)
    info = RunInfo(name, {"drill": "d"}, 1, "embedded", "now", "feedstorm", settings=settings or {})
    (directory / "run.json").write_bytes(msgspec.json.encode(info))
    events = Log[Event](directory / "events.jsonl")
    events.append(Phase(0.0, "baseline"), Phase(10.0, "fault"))
    events.close()
    series = Log[SeriesRow](directory / "series.jsonl")
    series.append(
        *(OpSecond(t, "w", "GET /feed", "feed_reader", ok={bucket_of(20_000): ops}) for t in range(20)),
        *(OpSecond(t, "w", "GET /feed", "staleness_probe", ok={bucket_of(900_000): 99}) for t in range(20)),
    )
    series.close()


def write_claims(runs: Path, name: str, rate: float) -> None:
    (runs / name).mkdir(parents=True)
    trial = {"run": name, "findings": [{"claim": "fan-out", "rates": {"fan_out_rate": {"value": rate}}}]}
    (runs / name / "claims.json").write_text(json.dumps(trial))


def test_inputs_are_measured_in_the_newest_records(tmp_path: Path) -> None:
    write_run(tmp_path, "20260101T000000Z_old", ops=1)
    write_run(tmp_path, "20260102T000000Z_new", settings={"FEED_FALLBACK_RPS": "50"})
    write_claims(tmp_path, "20260101T000000Z_claims", 1000)
    write_claims(tmp_path, "20260103T000000Z_claims", 2000)
    (tmp_path / "latest").symlink_to("20260102T000000Z_new")
    found = plan_inputs.measured(tmp_path)
    assert found["rate"].value == found["feed_rate"].value == 10
    assert found["latency"].value == pytest.approx(0.02, rel=0.01)
    assert found["fallback_rps"].value == 50
    assert found["fan_out_rate"].value == 2000
    assert found["rate"].source == "measured in 20260102T000000Z_new"
    assert found["fan_out_rate"].source == "measured in 20260103T000000Z_claims"


def test_broken_and_empty_records_are_passed_over(tmp_path: Path) -> None:
    write_run(tmp_path, "20260101T000000Z_good")
    write_run(tmp_path, "20260102T000000Z_few", ops=1)
    (tmp_path / "20260103T000000Z_broken").mkdir()
    (tmp_path / "20260103T000000Z_broken" / "run.json").write_text("{")
    (tmp_path / "20260103T000000Z_broken" / "claims.json").write_text("nonsense")
    found = plan_inputs.measured(tmp_path)
    assert found["rate"].source == "measured in 20260101T000000Z_good"
    assert "fan_out_rate" not in found
    assert plan_inputs.measured(tmp_path / "nowhere") == {}
