"""Inputs for a plan out of what was measured last: the latest trial of the claims, the latest run."""

from pathlib import Path
from typing import Final

import msgspec

from results import latency
from results.facts import Facts
from results.history import RUN, History, OpSecond
from results.measures import PROBE_USER, groups_of
from results.plan import INPUTS, Input

CLAIMS: Final = "claims.json"
_MIN_OPS: Final = 20


class _Rate(msgspec.Struct):
    value: float


class _Finding(msgspec.Struct):
    claim: str
    rates: dict[str, _Rate] = {}


class _Trial(msgspec.Struct):
    """The part of `claims.json` that plans need."""

    run: str
    findings: list[_Finding] = []


def measured(runs: Path) -> dict[str, Input]:
    """What the newest records under `runs` have measured. A record that cannot be read is passed over."""
    return {**_of_claims(runs), **_of_run(runs)}


def _of_claims(runs: Path) -> dict[str, Input]:
    for file in _newest_first(runs, CLAIMS):
        try:
            trial = msgspec.json.decode(file.read_bytes(), type=_Trial)
        except (OSError, msgspec.DecodeError):
            continue
        rates = {name: rate for finding in trial.findings for name, rate in finding.rates.items()}
        known = {name: rate.value for name, rate in rates.items() if name in INPUTS and rate.value > 0}
        if known:
            return {name: _input(name, value, trial.run) for name, value in known.items()}
    return {}


def _of_run(runs: Path) -> dict[str, Input]:
    for file in _newest_first(runs, RUN):
        try:
            history = History.load(file.parent)
        except (OSError, msgspec.DecodeError):
            continue
        found = inputs_of(history)
        if found:
            return found
    return {}


def inputs_of(history: History) -> dict[str, Input]:
    """What one run's baseline says of rates and latency; nothing if it has too few ops."""
    facts = Facts.of(history)
    whole, feed = facts.window("all", "baseline"), facts.window("feed", "baseline")
    if whole is None or whole.ok < _MIN_OPS:
        return {}
    values = {"rate": whole.rate, "latency": _mean_latency_s(history, whole.from_s, whole.to_s)}
    if feed is not None and feed.ok >= _MIN_OPS:
        values["feed_rate"] = feed.rate
    fallback = history.run.settings.get("FEED_FALLBACK_RPS")
    if fallback is not None:
        values["fallback_rps"] = float(fallback)
    return {name: _input(name, value, history.run.run) for name, value in values.items()}


def _mean_latency_s(history: History, from_s: float, to_s: float) -> float:
    rows = (
        row.ok
        for row in history.series
        if isinstance(row, OpSecond) and row.user != PROBE_USER and "all" in groups_of(row.op)
        if from_s <= row.t < to_s
    )
    buckets = latency.merge(rows)
    total = sum(latency.value_of(bucket) * count for bucket, count in buckets.items())
    return total / latency.count(buckets) / 1_000_000


def _input(name: str, value: float, run: str) -> Input:
    return msgspec.structs.replace(INPUTS[name], value=value, source=f"measured in {run}")


def _newest_first(runs: Path, name: str) -> list[Path]:
    """Directories are named by their time, so the last name is the newest."""
    found = [file for file in runs.glob(f"*/{name}") if not file.parent.is_symlink()]
    return sorted(found, key=lambda file: file.parent.name, reverse=True)
