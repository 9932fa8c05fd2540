"""The verdict of a run: pass, fail or invalid, with the reasons in plain sentences; `verdict.json`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from results.audit.finding import AuditReport, Finding
from results.drift import Drift
from results.drifts import drifts_of
from results.drill import DrillFacts
from results.facts import Facts
from results.faults import FaultLife
from results.history import History, write_atomically
from results.judgements import (
    Judgement,
    Outcome,
    of_audit,
    of_baseline,
    of_clocks,
    of_drifts,
    of_faults,
    of_proofs,
    of_quality,
    of_targets,
    of_the_course,
    overall,
    weighed,
)
from results.proof import ProofResult, parse_proof
from results.quality import Quality, quality_of
from results.recovery import Recovery, recovery_of
from results.targets import Target, TargetResult, parse_target, recovery_rule
from results.urls import shown
from results.words import plural
from results.worst import WorstWindow, worst_windows

VERDICT: Final = "verdict.json"
EXIT_CODES: Final = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INVALID: 3}


class AuditSums(msgspec.Struct):
    """The four numbers that everybody asks for first."""

    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    unknown: int = 0


class Recoveries(msgspec.Struct):
    """What the faults did to each group, the worst stretch of each phase, and how long the stack
    needed after the load to finish what it had accepted."""

    faults: list[Recovery] = []
    worst: list[WorstWindow] = []
    catch_up_s: float | None = None


class Verdict(msgspec.Struct):
    """What `verdict.json` holds."""

    run: str
    drill: str
    stack: str
    verdict: str
    why: list[str]
    targets: list[TargetResult]
    faults: list[FaultLife]
    audit: AuditSums
    recovery: Recoveries
    quality: Quality
    proofs: list[ProofResult] = []
    invariants: list[Finding] = []
    drifts: list[Drift] = []
    question: str = ""
    seed: int = 0
    stack_limits: list[str] = []

    @property
    def outcome(self) -> Outcome:
        return Outcome[self.verdict.upper()]

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 invalid."""
        return EXIT_CODES[self.outcome]


def judge(history: History, audit: AuditReport | None) -> Verdict:
    """Judge a run and write its `verdict.json`.

    `audit` is None if the drill asks for no invariant, or if the run ended before it could be audited.

    Raises:
        ValueError: the run's own drill holds a target or proof that cannot be parsed.
    """
    facts, drill = Facts.of(history), DrillFacts.of(history.run)
    targets = [parse_target(text) for text in drill.targets]
    results = [target.evaluate(facts, targets) for target in targets]
    proofs = [parse_proof(text).seen_in(facts) for text in drill.proof]
    quality, drifts = quality_of(history.series, facts.end_s), drifts_of(history)
    course = list(of_the_course(facts))
    early = bool(course)
    judgements = [
        *course,
        *of_faults(facts, drill, early=early),
        *of_quality(quality),
        *of_clocks(facts),
        *of_baseline(facts, targets),
        *of_proofs(proofs, early=early),
        *of_targets(results, early=early),
        *of_audit(audit, drill),
        *of_drifts(drifts),
    ]
    verdict = Verdict(
        run=history.run.run,
        drill=drill.drill,
        stack=history.run.stack,
        verdict=str(overall(judgements)),
        why=_reasons(judgements),
        targets=results,
        faults=facts.faults,
        audit=_sums(audit),
        recovery=_recoveries(facts, targets, audit),
        quality=quality,
        proofs=proofs,
        invariants=audit.findings if audit else [],
        drifts=drifts,
        question=drill.question,
        seed=history.run.seed,
        stack_limits=history.run.stack_limits,
    )
    write_atomically(history.directory / VERDICT, msgspec.json.format(msgspec.json.encode(verdict)))
    return verdict


def read(directory: Path) -> Verdict:
    """The verdict of an earlier run. Raises FileNotFoundError if it was never judged."""
    return msgspec.json.decode((directory / VERDICT).read_bytes(), type=Verdict)


def _reasons(judgements: Sequence[Judgement]) -> list[str]:
    """What speaks against a pass, the gravest first; else one sentence on what was kept."""
    judged = weighed(judgements)
    outcome = overall(judged)
    if outcome is Outcome.PASS:
        return [f"all of it held: {plural(len(judged), 'check')}"]
    against = [judgement for judgement in judged if judgement.outcome is not Outcome.PASS]
    if not against:
        return ["nothing was judged: the drill names no target and no invariant"]
    return [shown(judgement.why) for judgement in sorted(against, key=lambda each: -each.outcome)]


def _sums(audit: AuditReport | None) -> AuditSums:
    if audit is None:
        return AuditSums()
    return AuditSums(audit.acknowledged, audit.lost, audit.duplicated, audit.unknown)


def _recoveries(facts: Facts, targets: Sequence[Target], audit: AuditReport | None) -> Recoveries:
    groups = _groups_of_interest(targets)
    found = (
        recovery_of(facts, fault, group, recovery_rule(group, targets))
        for fault in facts.faults
        for group in groups
    )
    return Recoveries(
        faults=[recovery for recovery in found if recovery is not None],
        worst=worst_windows(facts, groups),
        catch_up_s=audit.catch_up_s if audit else None,
    )


def _groups_of_interest(targets: Iterable[Target]) -> list[str]:
    """`all`, `feed` and `writes`, and whatever else the targets name, each once."""
    named = [target.measure.group for target in targets if target.measure.kind != "staleness"]
    return list(dict.fromkeys(("all", "feed", "writes", *named)))
