"""Who is primary: terms that one member can win, and leases that its heartbeats keep.

The members share a `Register` (the store, see `register.py`) and the machine's monotonic clock, nothing
else. It keeps each member's last heartbeat and, per term, the one member that won it. The rules:

- A member is *up* while its newest heartbeat is younger than the election timeout.
- A primary may act until `timeout` after the start of its last heartbeat. Others stand for election
  only once that heartbeat is older than the timeout, so two members never act at the same time.
- Terms only grow. A member that restarts never resumes a term that it won in an earlier life.
- Without a majority that is up a primary steps down. Nobody is elected without a majority that was heard
  within half the timeout: members that died with their primary have no vote in the next election.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class Beat:
    """A heartbeat. `at` and `frozen_until` are monotonic seconds; `term` is what the sender holds, or 0."""

    at: float
    ok: bool = True
    term: int = 0
    frozen_until: float = 0.0


NEVER = Beat(at=float("-inf"), ok=False)


@dataclass(frozen=True)
class Standing:
    """What the register holds: each member's newest heartbeat, the newest term and who won it."""

    beats: Mapping[str, Beat]
    term: int = 0
    winner: str | None = None


class Register(Protocol):
    """What the members share."""

    async def beat(self, member: str, beat: Beat) -> None: ...

    async def read(self) -> Standing: ...

    async def claim(self, term: int, member: str) -> bool:
        """True for exactly one member: the one that wins `term`."""


@dataclass(frozen=True)
class Role:
    """Who is primary as this member sees it; if itself, until when it may act (monotonic seconds)."""

    primary: str | None
    lease_until: float = 0.0


class Election:
    """One member's part in the elections."""

    def __init__(
        self,
        me: str,
        members: tuple[str, ...],
        timeout_s: float,
        register: Register,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.me, self.members, self.timeout_s = me, members, timeout_s
        self.standing = Standing({})
        self.held_term = 0
        self._register, self._clock = register, clock
        self._frozen_until = 0.0

    def is_up(self, member: str) -> bool:
        return self._was_heard(member, self.timeout_s)

    def _was_heard(self, member: str, within_s: float) -> bool:
        beat = self.standing.beats.get(member, NEVER)
        return beat.ok and self._clock() - beat.at < within_s

    def _has_majority(self, within_s: float) -> bool:
        return sum(self._was_heard(member, within_s) for member in self.members) * 2 > len(self.members)

    def can_be_elected(self, member: str) -> bool:
        return self.is_up(member) and self.standing.beats[member].frozen_until <= self._clock()

    async def tick(self) -> Role:
        """Send a heartbeat, look around, and stand for election where there is no primary."""
        started = self._clock()
        await self._beat()
        self.standing = await self._register.read()
        moved_on = self.held_term != self.standing.term
        if self.held_term and (moved_on or not self._has_majority(self.timeout_s)):
            await self._hold(0)
        primary = self._living_primary()
        may_stand = self._has_majority(self.timeout_s / 2)
        if primary is None and may_stand and self._frozen_until <= self._clock():
            primary = await self._stand()
        return Role(primary, started + self.timeout_s if self.held_term else 0.0)

    async def look(self) -> None:
        """Read the others' newest heartbeats without sending one."""
        self.standing = await self._register.read()

    async def give_up(self, frozen_for_s: float = 0.0) -> None:
        """Be primary no more, and do not stand for the next `frozen_for_s` seconds."""
        self.freeze(frozen_for_s)
        await self._hold(0)

    def freeze(self, for_s: float) -> None:
        self._frozen_until = max(self._frozen_until, self._clock() + for_s)

    async def leave(self) -> None:
        """Say that this member is going down, so that the others need not wait for its silence."""
        await self.give_up(self.timeout_s)
        await self._register.beat(self.me, replace(self._own_beat(), ok=False))

    def _living_primary(self) -> str | None:
        term, winner = self.standing.term, self.standing.winner
        if winner is None or not self.is_up(winner) or self.standing.beats[winner].term != term:
            return None
        return None if winner == self.me and not self.held_term else winner

    async def _stand(self) -> str | None:
        """Try to win the next term. The heartbeat goes first: a winner must never look dead."""
        await self._hold(self.standing.term + 1)
        if not await self._register.claim(self.held_term, self.me):
            await self._hold(0)  # the next tick sees who won
            return None
        self.standing = replace(self.standing, term=self.held_term, winner=self.me)
        return self.me

    async def _hold(self, term: int) -> None:
        self.held_term = term
        await self._beat()

    async def _beat(self) -> None:
        await self._register.beat(self.me, self._own_beat())

    def _own_beat(self) -> Beat:
        return Beat(self._clock(), True, self.held_term, self._frozen_until)
