"""Performs the acts of a drill: inject, prove, hold, look again, heal, prove, wait until it is ready.

Everything that touches the stack blocks, so it runs in threads that nobody cancels half way: when a
run ends early, `heal_everything` first lets the acts under way come to their end.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from chaos.errors import CannotInjectError
from chaos.faults import make
from chaos.healing import Healing, heal
from chaos.injection import Injected, inject, prove_bites
from chaos.leases import Lease, LeaseBook
from chaos.targets import Arsenal
from chaos.timeline import Act
from compose.stack import StackError
from compose.waiting import NeverHappenedError
from results.history import Clock, Event, FaultStage, MemberChange, Note
from results.history import Fault as FaultEvent

READY_WITHIN_S = 45.0
_HEAL_ATTEMPTS = 3
_LAST_LOOK_S = 1.0
"""So long before its heal a fault is looked at again: something may have started the member meanwhile."""
Result = TypeVar("Result")


class Performer:
    """`in_force` says what is broken now, for the live view: lease id -> `kill mongo2`."""

    def __init__(
        self,
        arsenal: Arsenal,
        home: Path,
        directory: Path,
        clock: Clock,
        rng: random.Random,
        record: Callable[[Event], None],
    ) -> None:
        self._arsenal, self._book, self._directory = arsenal, LeaseBook(home), directory
        self._clock, self._rng, self._record = clock, rng, record
        self._busy: set[asyncio.Future[object]] = set()
        self._readiness: set[asyncio.Task[None]] = set()
        self.in_force: dict[str, str] = {}

    async def perform(self, number: int, act: Act) -> None:
        """One act from injection to heal. Raises CannotInjectError, once that is in the history."""
        lease = Lease.draw(
            make(act.fault, act.options),
            act.on,
            held_for_s=act.for_s,
            number=number,
            run=str(self._directory),
            t0=self._clock.t0,
        )
        injected = await self._in_thread(lambda: self._inject(lease, act))
        await self._in_thread(lambda: self._prove(injected, again=False))
        heals_at = injected.at - self._clock.t0 + act.for_s
        if injected.fault.hold and act.for_s > 2 * _LAST_LOOK_S:
            await self._until(heals_at - _LAST_LOOK_S)
            await self._in_thread(lambda: self._prove(injected, again=True))
        await self._until(heals_at)
        await self._heal([lease], "")

    async def _until(self, t: float) -> None:
        await asyncio.sleep(max(0.0, t - self._clock.now()))

    async def heal_everything(self, why: str) -> bool:
        """Heal whatever this run has in force, trying again if need be; False if something stays broken."""
        while self._busy:
            await asyncio.wait(set(self._busy))
        for _ in range(_HEAL_ATTEMPTS):
            mine = [lease for lease in self._book.all() if lease.run == str(self._directory)]
            if not mine:
                return True
            await self._heal(mine, why)
        return not any(lease.run == str(self._directory) for lease in self._book.all())

    async def close(self) -> None:
        """Stop waiting for members to become ready."""
        for task in self._readiness:
            task.cancel()
        await asyncio.gather(*self._readiness, return_exceptions=True)

    async def until_ready(self) -> None:
        """Wait until every healed member does its work again, or its bound has passed."""
        await asyncio.gather(*self._readiness, return_exceptions=True)

    # -- in threads ---------------------------------------------------------------------------

    def _inject(self, lease: Lease, act: Act) -> Injected:
        try:
            injected = inject(lease, act.on, self._arsenal, self._book, self._rng)
        except CannotInjectError as error:
            self._note(lease, "no_effect", str(error))
            self._note(lease, "healed", "")
            raise
        self.in_force[lease.id] = f"{act.fault} {', '.join(lease.targets)}"
        self._record(
            FaultEvent(injected.at - self._clock.t0, lease.id, act.fault, act.on, lease.targets, "inject")
        )
        return injected

    def _prove(self, injected: Injected, *, again: bool) -> None:
        """Look whether it bites; `again`, before healing, only speaks up if it stopped to."""
        evidence = prove_bites(injected)
        if not evidence.seen:
            before = "it lost its bite before its time: " if again else ""
            self._note(injected.lease, "no_effect", before + evidence.detail)
        elif not again:
            self._note(injected.lease, "bites", evidence.detail)

    def _note(self, lease: Lease, stage: FaultStage, detail: str) -> None:
        self._record(
            FaultEvent(self._clock.now(), lease.id, lease.fault, lease.on, lease.targets, stage, detail)
        )

    async def _heal(self, leases: list[Lease], why: str) -> None:
        healings = await self._in_thread(lambda: heal(leases, self._arsenal, self._book, why))
        for healing in healings:
            self._after(healing)

    def _after(self, healing: Healing) -> None:
        self.in_force.pop(healing.lease.id, None)
        if healing.stage == "heal_failed":
            text = f"{healing.lease.id} on {healing.target} could not be healed: {healing.detail}"
            self._record(Note(self._clock.now(), text))
            return
        self._record(
            Note(self._clock.now(), f"healed {healing.lease.fault} on {healing.target}: {healing.detail}")
        )
        if self._arsenal.member(healing.target) is not None:
            task = asyncio.create_task(self._wait_ready(healing.target))
            self._readiness.add(task)

    async def _wait_ready(self, member: str) -> None:
        try:
            await self._arsenal.stack.wait_ready((member,), within_s=READY_WITHIN_S)
        except (StackError, NeverHappenedError) as error:
            self._record(Note(self._clock.now(), f"{member} was healed and is not ready: {error}"))
        else:
            self._record(MemberChange(self._clock.now(), member, "ready"))

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        future = asyncio.get_running_loop().run_in_executor(None, work)
        busy: asyncio.Future[object] = asyncio.ensure_future(future)
        self._busy.add(busy)
        busy.add_done_callback(self._busy.discard)
        return await asyncio.shield(future)
