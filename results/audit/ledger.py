"""What the ledger of a run allows the stores to hold.

A relationship or a like is a switch that is turned on and off. An op took effect at some instant of
[t, done]; one whose outcome is unknown may have, then or any time later. So the last op by time decides,
and where ops overlap, or one is unknown, either state is legal. Posts and comments are things that are
made: each has the id that its answer gave, or may exist without one if its outcome is unknown.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from results.history import LedgerEntry, WriteKind

Pair = tuple[str, str]

SWITCHES: Final[dict[str, tuple[WriteKind, WriteKind]]] = {
    "follow": ("follow", "unfollow"),
    "like": ("like", "unlike"),
}
"""Name of a switch -> the kinds of write that turn it on and off."""

_NEVER: Final = float("-inf")
_ON: Final = 1
_OFF: Final = 2


class Switch(msgspec.Struct, gc=False):
    """All that has to be kept of one switch's ops to know in which states it may be."""

    last_start: float = _NEVER
    on_until: float = _NEVER
    off_until: float = _NEVER
    unknown: int = 0

    def take(self, entry: LedgerEntry, *, turns_on: bool) -> None:
        if entry.outcome == "unknown":
            self.unknown |= _ON if turns_on else _OFF
            return
        self.last_start = max(self.last_start, entry.t)
        if turns_on:
            self.on_until = max(self.on_until, entry.done)
        else:
            self.off_until = max(self.off_until, entry.done)

    @property
    def was_acknowledged(self) -> bool:
        return self.last_start != _NEVER

    def may_be(self, *, on: bool) -> bool:
        """Could this be the final state? An acknowledged op can be the last one unless another began
        after it was done."""
        if not self.was_acknowledged:
            return True
        until = self.on_until if on else self.off_until
        return until >= self.last_start or bool(self.unknown & (_ON if on else _OFF))

    @property
    def is_certain(self) -> bool:
        """Only one state is legal."""
        return self.may_be(on=True) != self.may_be(on=False)


def switches(ledger: Iterable[LedgerEntry], name: str) -> dict[Pair, Switch]:
    """(actor, target) -> switch, for every pair that the run wrote to. Refused writes change nothing."""
    on, off = SWITCHES[name]
    found: dict[Pair, Switch] = {}
    names: dict[str, str] = {}
    for entry in ledger:
        if entry.kind not in (on, off) or entry.outcome == "failed":
            continue
        pair = (names.setdefault(entry.actor, entry.actor), names.setdefault(entry.target, entry.target))
        switch = found.get(pair)
        if switch is None:
            switch = found[pair] = Switch()
        switch.take(entry, turns_on=entry.kind == on)
    return found


class Made(msgspec.Struct):
    """The posts, or comments, of a run. Per author: how many writes may exist without a known id
    (`unknown`), and how many were refused and must not (`refused`)."""

    authors: dict[str, str]
    """Acknowledged id -> who made it."""
    unknown: Counter[str]
    refused: Counter[str]


def made(ledger: Iterable[LedgerEntry], kind: WriteKind) -> Made:
    """Sort out the writes that make something. A key that was tried again and then acknowledged is one
    write, not two: repeating an idempotency key never does the thing twice."""
    result = Made({}, Counter(), Counter())
    names: dict[str, str] = {}
    acknowledged_keys: set[str] = set()
    open_ones: dict[str, LedgerEntry] = {}
    for entry in ledger:
        if entry.kind != kind:
            continue
        if entry.outcome == "ok":
            result.authors[entry.id] = names.setdefault(entry.actor, entry.actor)
            if entry.key in open_ones:
                acknowledged_keys.add(entry.key)
        elif entry.outcome == "unknown":
            open_ones[entry.key or f"{entry.actor} {entry.t}"] = entry
        else:
            result.refused[entry.actor] += 1
    for key, entry in open_ones.items():
        if key not in acknowledged_keys:
            result.unknown[entry.actor] += 1
    return result
