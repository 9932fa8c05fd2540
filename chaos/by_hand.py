"""One fault by hand, with the same lease, reaper and proofs as in a drill."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from chaos import reaper
from chaos.errors import HealError
from chaos.faults import Fault
from chaos.healing import heal
from chaos.injection import inject, prove_bites
from chaos.leases import Lease, LeaseBook
from chaos.live import View
from chaos.stacks import arm
from compose.stack import Stack

_LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class Wish:
    """Put `fault` on whoever plays `role`, for a while."""

    fault: Fault
    role: str
    for_s: float
    seed: int = 1
    allowed_hosts: tuple[str, ...] = ()


async def hold(
    wish: Wish, stack: Stack, home: Path, view: View, meanwhile: Callable[[], Awaitable[None]]
) -> None:
    """Inject, await `meanwhile` (less if somebody else heals it), heal: also when it raises or is cancelled.

    Raises:
        CannotInjectError: nothing is in force.
        HealError: the undo did not take; the lease stays for `feedstorm heal`.
    """
    arsenal, book, name = arm(stack, home, wish.allowed_hosts), LeaseBook(home), wish.fault.name
    watcher = reaper.start(home)
    lease = Lease.draw(wish.fault, wish.role, held_for_s=wish.for_s, number=0)
    injecting = asyncio.create_task(
        asyncio.to_thread(inject, lease, wish.role, arsenal, book, random.Random(wish.seed))
    )
    try:
        injected = await asyncio.shield(injecting)
        evidence = await asyncio.to_thread(prove_bites, injected)
        bites = "bites" if evidence.seen else "has no effect"
        view.say(f"{name} on {', '.join(lease.targets)}: {bites} ({evidence.detail})")
        await _while_in_force(meanwhile, lease, book)
    finally:
        await asyncio.wait({injecting})
        for healing in await asyncio.to_thread(heal, [lease], arsenal, book):
            view.say(f"{name} on {healing.target}: {healing.stage} ({healing.detail})")
    if book.holds(lease):
        raise HealError("something is still broken; `feedstorm heal` can try again")
    reaper.dismiss(watcher)


async def _while_in_force(meanwhile: Callable[[], Awaitable[None]], lease: Lease, book: LeaseBook) -> None:
    held = asyncio.ensure_future(meanwhile())
    try:
        while not held.done() and book.holds(lease):
            await asyncio.wait({held}, timeout=_LOOK_EVERY_S)
    finally:
        held.cancel()
        await asyncio.wait({held})
    if not held.cancelled():
        held.result()
