"""`junit.xml`: a test case per target, invariant and proof, and one for the run as a whole."""

from collections.abc import Iterator
from xml.etree import ElementTree

import msgspec

from results.summary import observed
from results.verdict import Verdict
from results.words import number


class Case(msgspec.Struct):
    """One test case. `ok` None means that it could not be decided, which JUnit calls an error."""

    kind: str
    name: str
    ok: bool | None
    text: str = ""


def junit(verdict: Verdict) -> str:
    """The XML document."""
    cases = list(cases_of(verdict))
    suite = ElementTree.Element(
        "testsuite",
        name=f"feedstorm.{verdict.drill}",
        tests=str(len(cases)),
        failures=str(sum(case.ok is False for case in cases)),
        errors=str(sum(case.ok is None for case in cases)),
    )
    for case in cases:
        element = ElementTree.SubElement(
            suite, "testcase", classname=f"{verdict.drill}.{case.kind}", name=case.name
        )
        if case.ok is not True:
            kind = "failure" if case.ok is False else "error"
            message = ElementTree.SubElement(element, kind, message=_printable(case.text))
            message.text = _printable(case.text)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def cases_of(verdict: Verdict) -> Iterator[Case]:
    """The run first, with all reasons; then each thing that was judged."""
    overall = {"pass": True, "fail": False}.get(verdict.verdict)
    yield Case("run", "verdict", overall, f"{verdict.verdict}: " + "; ".join(verdict.why))
    for target in verdict.targets:
        text = target.why or f"was {observed(target)}, limit {number(target.limit)} {target.unit}"
        yield Case("target", target.target, target.ok, text)
    for finding in verdict.invariants:
        where = f" (first: {finding.first}; worst: {finding.worst})" if finding.count else ""
        yield Case("invariant", finding.invariant, finding.ok, finding.text + where)
    for drift in verdict.drifts:
        if drift.judged:
            ok = None if drift.trend == "too short" else drift.trend != "rising"
            yield Case("drift", f"{drift.name} of {drift.member}", ok, drift.why)
    for proof in verdict.proofs:
        yield Case("proof", proof.text, True if proof.seen else None, proof.detail)


def _printable(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
