"""The reasons for a verdict: each rule looks at one side of a run and says what it makes of it.

Reasons have a weight. A *doubt* is about the measuring itself (load generator saturated, fault without
effect, stack broken before any fault): it takes the force from every *measure*, because a target missed
under doubt is no evidence against the stack. A *fact* (a lost write, a failed heal) stands regardless.

A run that ended early (`early`) gives that as its reason, and not also everything that could then not
be seen any more.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, IntEnum, auto

import msgspec

from results.audit.finding import AuditReport, Finding
from results.drift import Drift
from results.drill import DrillFacts
from results.facts import Facts
from results.faults import FaultLife
from results.history import Abort, End, Note, Phase
from results.proof import ProofResult
from results.quality import Quality
from results.recovery import BAD_ERROR_RATE
from results.staleness import staleness_of
from results.targets import MIN_OPS, Target, TargetResult
from results.words import number, percent, plural


class Outcome(IntEnum):
    """In order of severity: evidence against the stack outweighs a run that proves nothing."""

    PASS = 0
    INVALID = 1
    FAIL = 2

    def __str__(self) -> str:
        return self.name.lower()


class Weight(Enum):
    """How a reason counts beside others; see the module's text."""

    FACT = auto()
    MEASURE = auto()
    DOUBT = auto()


class Judgement(msgspec.Struct, frozen=True):
    """One reason: what it makes of the run, and why, in a plain sentence."""

    outcome: Outcome
    why: str
    weight: Weight = Weight.FACT


def overall(judgements: Iterable[Judgement]) -> Outcome:
    """The worst judgement; without any, invalid: never green by default."""
    return max((judgement.outcome for judgement in weighed(judgements)), default=Outcome.INVALID)


def weighed(judgements: Iterable[Judgement]) -> list[Judgement]:
    """The judgements, with every missed measure that is in doubt made invalid."""
    judgements = list(judgements)
    if not any(judgement.weight is Weight.DOUBT for judgement in judgements):
        return judgements
    return [
        msgspec.structs.replace(judgement, outcome=Outcome.INVALID)
        if judgement.weight is Weight.MEASURE and judgement.outcome is Outcome.FAIL
        else judgement
        for judgement in judgements
    ]


def doubt(why: str) -> Judgement:
    return Judgement(Outcome.INVALID, why, Weight.DOUBT)


# -- the rules ----------------------------------------------------------------------------------


def of_the_course(facts: Facts) -> Iterator[Judgement]:
    """Did the run go its whole way?"""
    if not any(isinstance(event, Phase) for event in facts.events):
        yield doubt("the run ended before its first phase")
    aborts = [event for event in facts.events if isinstance(event, Abort)]
    for abort in aborts:
        why = f"the run was aborted at {abort.t:.0f} s: {abort.condition} ({abort.observed})"
        yield Judgement(Outcome.FAIL, why, Weight.MEASURE)
    ends = [event for event in facts.events if isinstance(event, End)]
    if not ends:
        yield doubt("the run has no end: its runner was killed")
    elif ends[-1].why != "done" and not aborts:
        notes = [event.text for event in facts.events if isinstance(event, Note)]
        last = f" ({notes[-1]})" if notes and ends[-1].why == "aborted" else ""
        yield doubt(f"the run was {ends[-1].why} at {ends[-1].t:.0f} s{last}")


def of_faults(facts: Facts, drill: DrillFacts, *, early: bool) -> Iterator[Judgement]:
    """Was every fault injected, did it bite, was it healed?"""
    if drill.timeline and not facts.faults and not early:
        yield doubt("the drill's fault was never injected")
    for fault in facts.faults:
        yield from _of_fault(fault)


def _of_fault(fault: FaultLife) -> Iterator[Judgement]:
    detail = f" ({fault.detail})" if fault.detail else ""
    if fault.seen is False:
        yield doubt(f"the fault had no effect: {fault.name}{detail}")
    elif fault.seen is None:
        yield doubt(f"the fault was never seen to bite: {fault.name}")
    if fault.healed is False:
        yield Judgement(Outcome.FAIL, f"the fault could not be healed: {fault.name}{detail}")
    elif fault.healed is None:
        yield Judgement(Outcome.INVALID, f"the fault was never seen to be healed: {fault.name}")


def of_quality(quality: Quality) -> Iterator[Judgement]:
    """Was the load what was planned?"""
    for reason in quality.reasons():
        yield doubt(reason)


def of_clocks(facts: Facts) -> Iterator[Judgement]:
    """Was staleness measured on one clock?"""
    negative = staleness_of(facts.staleness, {sample.path for sample in facts.staleness}).negative
    if negative:
        samples = plural(negative, "staleness sample")
        yield doubt(f"clock skew: {samples} below 0 s, so two clocks were compared")


def of_baseline(facts: Facts, targets: Sequence[Target]) -> Iterator[Judgement]:
    """Was the stack healthy before the first fault? Otherwise a fault explains nothing."""
    window = facts.window("all", "baseline")
    if window is None:
        if facts.faults:
            yield doubt("there was no baseline before the fault to compare with")
        return
    if window.n < MIN_OPS:
        yield doubt(f"too few samples: {plural(window.n, 'op')} in the baseline, {MIN_OPS} are needed")
    elif window.error_rate is not None and window.error_rate >= BAD_ERROR_RATE:
        yield doubt(f"the baseline was already broken: {percent(window.error_rate)} errors before any fault")
        return
    for target in targets:
        before = target.in_baseline(facts)
        if before is not None and before.ok is False and before.observed is not None:
            yield doubt(
                f"the baseline was already broken: {target.measure} was {number(before.observed)} "
                f"{before.unit} before any fault (target: {target.text})"
            )


def of_proofs(proofs: Iterable[ProofResult], *, early: bool) -> Iterator[Judgement]:
    """Was everything seen without which the drill proves nothing?"""
    for proof in proofs:
        if not proof.seen and not early:
            yield doubt(f"the proof was not seen: {proof.text} ({proof.detail})")


def of_targets(results: Iterable[TargetResult], *, early: bool) -> Iterator[Judgement]:
    """Was every target met?"""
    for result in results:
        observed = "no data" if result.observed is None else f"{number(result.observed)} {result.unit}"
        if result.ok is None and early:
            continue
        if result.ok is None:
            yield Judgement(Outcome.INVALID, f"no data for {result.target}: {result.why}")
        elif result.ok:
            yield Judgement(Outcome.PASS, f"{result.target}: {observed}", Weight.MEASURE)
        else:
            yield Judgement(Outcome.FAIL, f"target missed: {result.target}, was {observed}", Weight.MEASURE)


def of_audit(audit: AuditReport | None, drill: DrillFacts) -> Iterator[Judgement]:
    """Is everything that was acknowledged still there, once, and nothing else?

    What was found before the stack had caught up may only be late, so it is no evidence yet.
    """
    if audit is None:
        if drill.invariants:
            yield Judgement(Outcome.INVALID, "the audit did not run, so nothing is known about lost writes")
        return
    if audit.error:
        yield Judgement(Outcome.INVALID, f"the audit could not run: {audit.error}")
    if not audit.caught_up:
        yield Judgement(Outcome.INVALID, f"the stack had not caught up: {audit.under_way}")
    found = {finding.invariant: finding for finding in audit.findings}
    for name in drill.invariants:
        if name not in found and not audit.error:
            yield Judgement(Outcome.INVALID, f"{name} was not audited")
    for finding in audit.findings:
        if finding.ok is None:
            yield Judgement(Outcome.INVALID, f"{finding.invariant}: {finding.text}")
        elif finding.ok:
            yield Judgement(Outcome.PASS, f"{finding.invariant}: {finding.text}")
        else:
            yield _of_broken(finding, caught_up=audit.caught_up)


def _of_broken(finding: Finding, *, caught_up: bool) -> Judgement:
    if caught_up:
        return Judgement(Outcome.FAIL, f"{finding.invariant} is broken: {finding.text}")
    return Judgement(
        Outcome.INVALID, f"{finding.invariant} is not kept yet: {finding.text}, perhaps only late"
    )


def of_drifts(drifts: Sequence[Drift]) -> Iterator[Judgement]:
    """Does anything creep that should not? A run too short to tell has shown nothing."""
    judged = [drift for drift in drifts if drift.judged]
    told = [drift for drift in judged if drift.trend != "too short"]
    rising = [drift for drift in told if drift.trend == "rising"]
    for drift in rising:
        what = f"{drift.name} of {drift.member}"
        yield Judgement(Outcome.FAIL, f"{what} creeps up: {drift.why}", Weight.MEASURE)
    if told and not rising:
        yield Judgement(Outcome.PASS, f"nothing creeps up: {plural(len(told), 'record')}", Weight.MEASURE)
    if judged and not told:
        longest = max(judged, key=lambda each: each.watched_s)
        yield Judgement(Outcome.INVALID, f"drift is {longest.why}")
