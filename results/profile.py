"""What is kept of a run for comparing it with others: blocks of seconds, staleness samples, single numbers.

Ops are kept in blocks of `BLOCK_S` seconds, because neighbouring seconds resemble each other: whoever
resamples takes whole blocks. A profile is small and goes into a file, so that a nightly job can compare
with a baseline whose run is long gone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from results.facts import Facts
from results.history import PHASES, History, PhaseName, write_atomically
from results.latency import Buckets
from results.verdict import VERDICT, Verdict
from results.verdict import read as read_verdict

BLOCK_S: Final = 3
PHASES_COMPARED: Final[tuple[PhaseName, ...]] = PHASES[1:]
"""Warm-up is not compared."""
GROUPS_COMPARED: Final = ("all", "feed", "writes", "likes", "follows")


class OpBlock(msgspec.Struct):
    """Some seconds of one group's ops; `ok` is the latency histogram of the successful ones."""

    seconds: int
    n: int
    errors: int
    ok: Buckets


class Profile(msgspec.Struct):
    """One run. Keys of `ops` and `staleness` are `"<group> in <phase>"`; `times` are in seconds;
    `counts` are things of which there should be none."""

    run: str
    drill: str
    stack: str
    verdict: str
    why: list[str]
    ops: dict[str, list[OpBlock]] = {}
    staleness: dict[str, list[float]] = {}
    times: dict[str, float] = {}
    counts: dict[str, int] = {}


def profile_of(directory: Path) -> Profile:
    """The profile of a run that was judged.

    Raises:
        FileNotFoundError: `directory` holds no run, or one that was never judged.
    """
    if not (directory / VERDICT).exists():
        raise FileNotFoundError(f"{directory} holds no {VERDICT}: it is no run, or was never judged")
    history, verdict = History.load(directory), read_verdict(directory)
    facts = Facts.of(history)
    profile = Profile(verdict.run, verdict.drill, verdict.stack, verdict.verdict, verdict.why)
    for phase in PHASES_COMPARED:
        _add_ops(profile, facts, phase)
        _add_staleness(profile, facts, phase)
    _add_numbers(profile, verdict)
    return profile


def save_baseline(profiles: Sequence[Profile], path: Path) -> None:
    """Keep profiles in a file that later runs are compared with."""
    write_atomically(path, msgspec.json.encode(profiles))


def load_baseline(path: Path) -> list[Profile]:
    """Raises FileNotFoundError, or ValueError if the file is no baseline."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Profile])
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} is not a baseline: {error}") from None


def _add_ops(profile: Profile, facts: Facts, phase: PhaseName) -> None:
    begin, end = facts.seconds_of(phase) or (0, 0)
    for group in GROUPS_COMPARED:
        windows = [window for window in facts.series.bins(group, begin, end, BLOCK_S) if window.n]
        blocks = [
            OpBlock(round(window.to_s - window.from_s), window.n, window.errors, window.histogram("ok"))
            for window in windows
        ]
        if blocks:
            profile.ops[f"{group} in {phase}"] = blocks


def _add_staleness(profile: Profile, facts: Facts, phase: PhaseName) -> None:
    for name in ("feed", "likes", "follows"):
        seconds = facts.staleness_in(name, phase).seconds
        if seconds:
            profile.staleness[f"{name} in {phase}"] = seconds


def _add_numbers(profile: Profile, verdict: Verdict) -> None:
    """The outage of `all` is left out: how much of a mixed load has to fail for one depends on the mix."""
    for recovery in (each for each in verdict.recovery.faults if each.group != "all"):
        name = f"{recovery.group} after {recovery.fault} {recovery.on}"
        for what, value in (("outage", recovery.outage_s), ("recovery_time", recovery.recovery_s)):
            key = f"{what} of {name}"
            profile.times[key] = max(value, profile.times.get(key, 0.0))
    if verdict.recovery.catch_up_s is not None:
        profile.times["catch_up"] = verdict.recovery.catch_up_s
    if verdict.invariants:
        profile.counts["acknowledged writes lost"] = verdict.audit.lost
        profile.counts["writes applied twice"] = verdict.audit.duplicated
