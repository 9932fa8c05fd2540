"""Putting a fault on whoever plays a role now: lease on disk, inject, look whether it bites."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from chaos import roles
from chaos.errors import CannotInjectError
from chaos.faults import Evidence, Fault
from chaos.healing import heal
from chaos.leases import Grip, Lease, LeaseBook
from chaos.targets import Arsenal, Target
from compose.stack import Stack


@dataclass(frozen=True)
class Injected:
    """A fault in force. `at` is the `time.monotonic()` instant at which the last target was hit."""

    lease: Lease
    fault: Fault
    targets: tuple[Target, ...]
    at: float


def inject(lease: Lease, on: str, arsenal: Arsenal, book: LeaseBook, rng: random.Random) -> Injected:
    """Resolve the role, write the lease, do it. Blocking; every step is bounded by its driver.

    Raises:
        CannotInjectError: nobody plays the role, or the fault cannot be put on them; then whatever
            was begun is undone again.
    """
    with book.locked():
        targets = roles.resolve(roles.parse(on), arsenal, rng)
        fault = lease.make_fault()
        _refuse_wrong_kind(fault, targets, arsenal.stack)
        lease.grips = [Grip(target.name, fault.prepare(target, lease.id)) for target in targets]
        book.write(lease)
        error = _do(fault, lease, targets)
    if error is not None:
        heal([lease], arsenal, book, why="the injection failed half way")
        raise CannotInjectError(str(error)) from error
    return Injected(lease, fault, targets, time.monotonic())


def _refuse_wrong_kind(fault: Fault, targets: tuple[Target, ...], stack: Stack) -> None:
    wrong = next((target for target in targets if (target.link is not None) != (fault.hits == "link")), None)
    if wrong is None:
        return
    if wrong.link is not None:
        kind, instead = "link", [wrong.link.server]
    else:
        kind, instead = "member", [f"link:{link.name}" for link in stack.links if link.server == wrong.name]
    hint = f"; take {' or '.join(instead)}" if instead else ""
    raise CannotInjectError(f"{fault.name}: works on a {fault.hits}, and {wrong.name} is a {kind}{hint}")


def _do(fault: Fault, lease: Lease, targets: tuple[Target, ...]) -> Exception | None:
    for target, grip in zip(targets, lease.grips, strict=True):
        try:
            fault.inject(target, grip.undo)
        except Exception as error:  # whatever a driver raises, what was begun must be undone
            return error
    return None


def prove_bites(injected: Injected) -> Evidence:
    """Whether every target's clients can feel it now; the detail speaks of each target."""
    with ThreadPoolExecutor(len(injected.targets)) as pool:
        found = list(pool.map(lambda pair: _look(injected.fault, *pair), _pairs(injected)))
    detail = "; ".join(
        f"{target.name}: {evidence.detail}" for target, evidence in zip(injected.targets, found, strict=True)
    )
    return Evidence(all(evidence.seen for evidence in found), detail)


def _pairs(injected: Injected) -> list[tuple[Target, Grip]]:
    return list(zip(injected.targets, injected.lease.grips, strict=True))


def _look(fault: Fault, target: Target, grip: Grip) -> Evidence:
    try:
        return fault.prove_bites(target, grip.undo)
    except Exception as error:  # a proof that cannot look has seen nothing
        return Evidence(False, f"could not look: {error}")
