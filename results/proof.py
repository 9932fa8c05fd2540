"""Proofs: what must have been seen for a drill to prove anything, in sentences, looked up in the history.

a write failed while mongo:primary was down
a like succeeded while mongo:primary was down
a request was shed while redis was down
a feed was served stale while redis was paused
feed latency rose while link:app->redis was slow
a new primary was elected
"""

import re
from collections.abc import Callable, Iterator
from math import ceil, floor
from typing import Final

import msgspec

from results.facts import Facts
from results.faults import FaultLife
from results.history import History, Topology
from results.measures import GROUPS, Window
from results.words import number, plural, seconds

FORMS: Final = (
    "a <write|read|feed|like|follow|post|comment|op> failed while <role> was <state>",
    "a <write|read|feed|like|follow|post|comment|op> succeeded while <role> was <state>",
    "a request was shed while <role> was <state>",
    "a feed was served stale while <role> was <state>",
    "<group> latency rose while <role> was <state>",
    "a new primary was elected",
)
THINGS: Final = {
    "write": "writes",
    "read": "reads",
    "feed": "feed",
    "like": "likes",
    "follow": "follows",
    "post": "posts",
    "comment": "comments",
    "op": "all",
    "request": "all",
}
STATES: Final[dict[str, tuple[str, ...]]] = {
    "down": ("kill", "stop", "restart"),
    "paused": ("pause",),
    "stepping down": ("step",),
    "cut": ("cut", "partition", "timeout", "reset"),
    "slow": ("latency", "bandwidth", "slicer", "slow", "cpu"),
    "flushed": ("flush",),
    "read-only": ("readonly",),
    "starved": ("cpu",),
    "faulty": ("",),
}
"""What a sentence can say that a role was -> the beginnings of the names of the faults that make it so."""
ROSE_BY: Final = 1.5
ROSE_BY_AT_LEAST_S: Final = 0.010

_WHILE: Final = r"while (?P<role>\S+) was (?P<state>" + "|".join(STATES) + ")"


class ProofResult(msgspec.Struct):
    """Whether a proof was seen. `when`: seconds of the run; `detail`: what was, or was not, there."""

    text: str
    seen: bool
    when: float | None = None
    detail: str = ""


class Proof:
    """One parsed proof sentence."""

    def __init__(self, text: str, look: Callable[[Facts], ProofResult]) -> None:
        self.text, self._look = text, look

    def seen(self, history: History) -> ProofResult:
        """Look it up in a whole run."""
        return self.seen_in(Facts.of(history))

    def seen_in(self, facts: Facts) -> ProofResult:
        result = self._look(facts)
        result.text = self.text
        return result


def parse_proof(text: str) -> Proof:
    """Parse a proof sentence.

    Raises:
        ValueError: it has none of the known forms, which the message lists.
    """
    sentence = " ".join(text.split())
    for pattern, builder in _PARSERS:
        match = re.fullmatch(pattern, sentence)
        if match:
            return Proof(sentence, builder(match))
    raise ValueError(
        f"'{text}' is not a known proof; the known forms are: {'; '.join(FORMS)} "
        f"(states: {', '.join(STATES)})"
    )


# -- the forms --------------------------------------------------------------------------------

Look = Callable[[Facts], ProofResult]


def _counted(group: str, what: str, count: Callable[[Window], int], match: re.Match[str]) -> Look:
    """Seen if `count` is not 0 in some second while the fault was in force."""

    def look(facts: Facts) -> ProofResult:
        faults = _faults_of(facts, match)
        if not faults:
            return _no_such_fault(match)
        found = [
            (window.from_s, count(window)) for window in _seconds_of(facts, faults, group) if count(window)
        ]
        if not found:
            ops = sum(window.n for window in _seconds_of(facts, faults, group))
            return ProofResult("", False, detail=f"none of the {plural(ops, 'op')} in that time {what}")
        total = sum(number_of for _, number_of in found)
        return ProofResult(
            "", True, found[0][0], f"{plural(total, 'op')} {what}, first at {found[0][0]:.0f} s"
        )

    return look


def _failed(match: re.Match[str]) -> Look:
    return _counted(THINGS[match["thing"]], "failed", lambda window: window.errors, match)


def _succeeded(match: re.Match[str]) -> Look:
    return _counted(THINGS[match["thing"]], "succeeded", lambda window: window.ok, match)


def _shed(match: re.Match[str]) -> Look:
    return _counted("all", "was shed", lambda window: window.shed, match)


def _served_stale(match: re.Match[str]) -> Look:
    return _counted("feed", "was served stale", lambda window: window.stale, match)


def _latency_rose(match: re.Match[str]) -> Look:
    """Median or p95 of all outcomes, against the baseline's: failing slowly is a slow answer too."""
    group = match["group"]

    def look(facts: Facts) -> ProofResult:
        faults, before = _faults_of(facts, match), facts.window(group, "baseline")
        if not faults:
            return _no_such_fault(match)
        if before is None or before.n == 0:
            return ProofResult("", False, detail=f"no {group} op in the baseline to compare with")
        during = facts.series.window(group, *_bounds(facts, faults[0]))
        for q in (0.5, 0.95):
            was, became = before.quantile(q, "all") or 0.0, during.quantile(q, "all") or 0.0
            if became > was * ROSE_BY and became - was > ROSE_BY_AT_LEAST_S:
                detail = f"p{q * 100:.0f} went from {seconds(was)} to {seconds(became)}"
                return ProofResult("", True, faults[0].injected_at, detail)
        return ProofResult(
            "", False, detail=f"{group} latency did not rise by {number((ROSE_BY - 1) * 100)} %"
        )

    return look


def _new_primary(match: re.Match[str]) -> Look:
    def look(facts: Facts) -> ProofResult:
        injected = min((fault.injected_at for fault in facts.faults), default=0.0)
        before: str | None = None
        for event in facts.events:
            if not isinstance(event, Topology) or event.primary is None:
                continue
            if event.t >= injected and before is not None and event.primary != before:
                return ProofResult("", True, event.t, f"{event.primary} took over from {before}")
            before = event.primary
        return ProofResult("", False, detail=f"the primary was {before or 'not known'} all along")

    return look


_PARSERS: Final[tuple[tuple[str, Callable[[re.Match[str]], Look]], ...]] = (
    (rf"an? (?P<thing>{'|'.join(THINGS)}) failed {_WHILE}", _failed),
    (rf"an? (?P<thing>{'|'.join(THINGS)}) succeeded {_WHILE}", _succeeded),
    (rf"an? (?:request|op) was shed {_WHILE}", _shed),
    (rf"a feed was served stale {_WHILE}", _served_stale),
    (rf"(?P<group>{'|'.join(GROUPS)}) latency rose {_WHILE}", _latency_rose),
    (r"a new primary was elected", _new_primary),
)


# -- where to look ------------------------------------------------------------------------------


def _faults_of(facts: Facts, match: re.Match[str]) -> list[FaultLife]:
    role, makes = match["role"], STATES[match["state"]]
    return [
        fault
        for fault in facts.faults
        if (fault.on == role or role in fault.members or fault.on.partition(":")[0] == role)
        and fault.fault.startswith(makes)
    ]


def _bounds(facts: Facts, fault: FaultLife) -> tuple[int, int]:
    begin, end = fault.in_force(facts.end_s)
    return floor(begin), max(ceil(end), floor(begin) + 1)


def _seconds_of(facts: Facts, faults: list[FaultLife], group: str) -> Iterator[Window]:
    for fault in faults:
        yield from facts.series.bins(group, *_bounds(facts, fault))


def _no_such_fault(match: re.Match[str]) -> ProofResult:
    return ProofResult("", False, detail=f"no fault made {match['role']} {match['state']} in this run")
