"""Undoing faults from their leases: the same few lines for the runner, the reaper and `feedstorm heal`.

Newest first, past single failures, and never what another lease still asks for: a member that two
faults hold down stays down until the second is over. A lease is closed only when the undo was seen
to have taken; one that could not be undone stays on disk with the reason.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.capabilities import OURS, CanDisturb
from chaos.leases import Grip, Lease, LeaseBook
from chaos.targets import Arsenal
from results.history import EVENTS, Event, FaultStage, Log
from results.history import Fault as FaultEvent


@dataclass(frozen=True)
class Healing:
    """What became of one grip. `stage` is the history's word; `detail` one phrase on what was seen."""

    lease: Lease
    target: str
    stage: FaultStage
    detail: str


def heal(leases: Sequence[Lease], arsenal: Arsenal | None, book: LeaseBook, why: str = "") -> list[Healing]:
    """Undo these leases, the newest first, and look whether it took. Blocking; bounded for each grip.

    `arsenal` is None when the stack is gone: then nothing is in force any more, and the leases say so.
    Safe to repeat, from any process; what somebody else healed meanwhile is passed over.
    """
    with book.locked():
        open_ones = [lease for lease in sorted(leases, key=_newest_first) if book.holds(lease)]
        others = [lease for lease in book.all() if lease.id not in {each.id for each in open_ones}]
        done = [(lease, _undo(lease, arsenal, others)) for lease in open_ones]
        for lease in open_ones:
            _record(lease, "heal", lease.targets, why)
        return [healing for lease, undone in done for healing in _close(lease, undone, arsenal, book)]


def _newest_first(lease: Lease) -> float:
    return -lease.made_at


def _undo(lease: Lease, arsenal: Arsenal | None, others: list[Lease]) -> dict[str, str]:
    """Undo every grip; target -> what is to be said of it instead of a proof ("" = look at it)."""
    return {grip.target: _undo_grip(lease, grip, arsenal, others) for grip in reversed(lease.grips)}


def _undo_grip(lease: Lease, grip: Grip, arsenal: Arsenal | None, others: list[Lease]) -> str:
    fault, target = lease.make_fault(), arsenal.target(grip.target) if arsenal is not None else None
    if target is None:
        return "gone: the stack does not have it any more"
    on_the_same = [other for other in others if grip.target in other.targets]
    for other in on_the_same:
        if fault.hold and other.make_fault().hold == fault.hold:
            return f"kept: {other.id} still holds it {fault.hold}"
    try:
        fault.heal(target, grip.undo)
    except Exception as error:  # one undo that fails must not keep the others from being done
        return f"failed: {error}"
    for other in on_the_same:
        _restore(other, grip.target, arsenal)
    return ""


def _restore(lease: Lease, name: str, arsenal: Arsenal | None) -> None:
    """Put a fault back on a target that another fault's undo has started anew."""
    fault, target = lease.make_fault(), arsenal.target(name) if arsenal is not None else None
    undo = next(grip.undo for grip in lease.grips if grip.target == name)
    if target is None or fault.momentary or not fault.hold:
        return
    try:
        fault.inject(target, undo)
    except Exception as error:  # it lost its bite, which is no danger; its own proof will say so
        _record(lease, "no_effect", [name], f"could not be put back: {error}")


def _close(lease: Lease, undone: dict[str, str], arsenal: Arsenal | None, book: LeaseBook) -> list[Healing]:
    healings = [_look(lease, grip, undone[grip.target], arsenal) for grip in reversed(lease.grips)]
    failed = {healing.target: healing.detail for healing in healings if healing.stage == "heal_failed"}
    if failed:
        lease.grips = [grip for grip in lease.grips if grip.target in failed]
        lease.failures += 1
        lease.last_error = "; ".join(failed.values())
        book.write(lease)
    else:
        book.remove(lease)
    _record(lease, *_summary(healings))
    return healings


def _summary(healings: list[Healing]) -> tuple[FaultStage, list[str], str]:
    """One line for the history: healed only if every target is."""
    failed = [healing for healing in healings if healing.stage == "heal_failed"]
    told = failed or healings
    detail = "; ".join(f"{healing.target}: {healing.detail}" for healing in told if healing.detail)
    return ("heal_failed" if failed else "healed"), [healing.target for healing in told], detail


def _look(lease: Lease, grip: Grip, said: str, arsenal: Arsenal | None) -> Healing:
    if said.startswith("failed"):
        return Healing(lease, grip.target, "heal_failed", said)
    target = arsenal.target(grip.target) if arsenal is not None else None
    if said or target is None:
        return Healing(lease, grip.target, "healed", said)
    try:
        evidence = lease.make_fault().prove_healed(target, grip.undo)
    except Exception as error:  # a proof that cannot look has not seen it healed
        return Healing(lease, grip.target, "heal_failed", f"could not look: {error}")
    return Healing(lease, grip.target, "healed" if evidence.seen else "heal_failed", evidence.detail)


def _record(lease: Lease, stage: FaultStage, members: list[str], detail: str) -> None:
    """Write a line into the history of the run that the lease belongs to, if there is one."""
    if not lease.run or not Path(lease.run).is_dir():
        return
    log = Log[Event](Path(lease.run) / EVENTS)
    try:
        t = time.monotonic() - lease.t0
        log.append(FaultEvent(t, lease.id, lease.fault, lease.on, members, stage, detail))
    finally:
        log.close()


def remove_stray_toxics(arsenal: Arsenal, book: LeaseBook) -> list[tuple[str, str]]:
    """Remove toxics of ours that no lease speaks of, because its file was lost; others' are left alone.

    Returns (link, toxic) of each. Raises CannotInjectError if the proxy cannot be asked.
    """
    if not isinstance(arsenal.links, CanDisturb):
        return []
    with book.locked():
        spoken_for = {name for lease in book.all() for grip in lease.grips for name in grip.undo.values()}
        strays = [
            (link.name, toxic)
            for link in arsenal.stack.links
            for toxic in sorted(arsenal.links.toxics(link.name) - spoken_for)
            if toxic.startswith(OURS)
        ]
        for link_name, toxic in strays:
            arsenal.links.remove_toxic(link_name, toxic)
    return strays
