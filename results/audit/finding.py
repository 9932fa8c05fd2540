"""What an audit says: one finding per invariant, and the report that holds them all."""

import msgspec

MOST_IDS = 20
"""A finding names this many ids; `count` says how many there really are."""


class Finding(msgspec.Struct, omit_defaults=True):
    """The outcome of one invariant.

    `ok` is None if there was nothing to check: an invariant that nothing could have broken is not kept.
    `count` is how often it was broken; `first`, `worst` and `last` say where, `ids` names the culprits.
    """

    invariant: str
    ok: bool | None
    checked: int
    count: int = 0
    text: str = ""
    first: str = ""
    worst: str = ""
    last: str = ""
    ids: list[str] = []


class AuditReport(msgspec.Struct):
    """What was found in the stores after a run, held against its ledger.

    `catch_up_s` is how long the stack needed after the load until nothing was under way any more; None
    if that never came (`caught_up` False) or could not be seen. `error` is why the audit could not run.
    """

    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    unknown: int = 0
    findings: list[Finding] = []
    catch_up_s: float | None = None
    caught_up: bool = True
    under_way: str = ""
    took_s: float = 0.0
    sample: dict[str, int] = {}
    error: str = ""


class Breaches:
    """Collects where one invariant is broken, and makes its finding."""

    def __init__(self, invariant: str) -> None:
        self.invariant, self.count = invariant, 0
        self._first: tuple[float, str] | None = None
        self._last: tuple[float, str] | None = None
        self._worst: tuple[float, str] | None = None
        self._ids: list[str] = []

    def add(self, what: str, *, at: float = 0.0, size: float = 1.0, id: str = "") -> None:
        """`what` is one plain phrase; `at` puts it in order, `size` says how bad it is."""
        self.count += 1
        if self._first is None or at < self._first[0]:
            self._first = (at, what)
        if self._last is None or at >= self._last[0]:
            self._last = (at, what)
        if self._worst is None or size > self._worst[0]:
            self._worst = (size, what)
        if len(self._ids) < MOST_IDS:
            self._ids.append(id or what)

    def finding(self, checked: int, good: str, bad: str, nothing: str | None = None) -> Finding:
        """`good` and `bad` are the sentences for either outcome. With nothing checked the finding is
        undecided and says `nothing`; pass None where even that is good news."""
        if self.count:
            first, worst, last = (each[1] for each in (self._first, self._worst, self._last) if each)
            return Finding(self.invariant, False, checked, self.count, bad, first, worst, last, self._ids)
        if checked == 0 and nothing is not None:
            return Finding(self.invariant, None, 0, text=nothing)
        return Finding(self.invariant, True, checked, text=good)
