"""What every fault is: options, and five verbs on one target.

    prepare       check that it can be done and decide how it will be undone; changes nothing
    inject        do it; doing it twice is doing it once
    prove_bites   look from outside whether clients can feel it
    heal          undo it, from the undo data alone, in any process; safe to repeat
    prove_healed  look from outside whether the target does its work again

Between prepare and inject the undo data go to disk (`chaos.leases`), so `heal` may run in another
process, long after the one that injected was killed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import msgspec

from chaos import probes
from chaos.targets import Target

Undo: TypeAlias = dict[str, str]
"""What `heal` needs to know beyond the target and the fault's own options."""

Hold: TypeAlias = Literal["", "down", "frozen", "cut", "readonly"]
"""A condition that only one fault at a time can end: the last of those that keep a target so."""


@dataclass(frozen=True)
class Evidence:
    """What a proof saw. `detail` is one phrase for the report, whichever way it went."""

    seen: bool
    detail: str


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to break one thing. A subclass's docstring is the sentence on what clients feel."""

    name: ClassVar[str]
    hits: ClassVar[Literal["member", "link"]]
    momentary: ClassVar[bool] = False  # over as soon as it is done: nothing stays in force
    hold: ClassVar[Hold] = ""

    def prepare(self, target: Target, lease: str) -> Undo:
        """Raises CannotInjectError with the reason why this cannot be put on the target."""
        raise NotImplementedError

    def inject(self, target: Target, undo: Undo) -> None:
        raise NotImplementedError

    def prove_bites(self, target: Target, undo: Undo) -> Evidence:
        raise NotImplementedError

    def heal(self, target: Target, undo: Undo) -> None:
        raise NotImplementedError

    def prove_healed(self, target: Target, undo: Undo) -> Evidence:
        """Whether the undo took. That the member does its work again is the injector's to wait for."""
        raise NotImplementedError


def look_until(look: Callable[[], Evidence], *, within_s: float) -> Evidence:
    """Look again and again until the evidence is there; the last look if it never is."""
    deadline = time.monotonic() + within_s
    while True:
        evidence = look()
        if evidence.seen or time.monotonic() >= deadline:
            return evidence
        time.sleep(0.05)


def silence(target: Target, *, within_s: float = 0.5) -> Evidence:
    """Evidence that the target does not answer a probe; where it listens nowhere, there is nothing to ask."""
    if not target.address:
        return Evidence(True, "it listens nowhere that could be asked")
    try:
        took = probes.answer_time(target.component, target.address, within_s=within_s)
    except TimeoutError:
        return Evidence(True, f"a probe got no answer within {within_s:g} s")
    except OSError as error:
        return Evidence(True, f"a probe met {_phrase(error)}")
    return Evidence(False, f"a probe was answered in {took * 1000:.0f} ms")


def _phrase(error: OSError) -> str:
    return "a refused connection" if isinstance(error, ConnectionRefusedError) else "a broken connection"
