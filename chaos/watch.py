"""Watches the stack while a run goes on: who is Mongo primary, and which members changed state.

What is seen goes into the history with the time at which it was seen; a change is known at most one
look (0.2 s) late.
"""

import asyncio
from collections.abc import Callable

from compose.stack import Component, Stack, State
from results.history import Clock, Event, MemberChange, Note, Topology

_EVERY_S = 0.2


class StackWatch:
    """`primary` and `states` are what was seen last."""

    def __init__(self, stack: Stack, clock: Clock, record: Callable[[Event], None]) -> None:
        self._stack, self._clock, self._record = stack, clock, record
        self.primary: str | None = None
        self.states: dict[str, State] = {}
        self._has_mongo = any(member.component == Component.MONGO for member in stack.members)
        self._first_look = True
        self._none_since: float | None = None
        self._last_error = ""

    async def run(self) -> None:
        """Look until cancelled. A look that fails is noted once, and the next one is taken."""
        while True:
            began = self._clock.now()
            try:
                await self._look()
            except Exception as error:  # an observer that cannot look must not end the run
                self._note_once(f"the stack could not be looked at: {error}")
            await asyncio.sleep(max(0.02, _EVERY_S - (self._clock.now() - began)))

    async def _look(self) -> None:
        states = await asyncio.to_thread(self._look_at_members)
        for name, state in states.items():
            if self.states.get(name, State.RUNNING) != state:
                self._record(MemberChange(self._clock.now(), name, state))
        self.states = states
        if self._has_mongo:
            self._see_primary(await asyncio.to_thread(self._stack.primary), self._clock.now())

    def _see_primary(self, primary: str | None, t: float) -> None:
        """A single look without an answer may be a busy machine: "no primary" takes two in a row."""
        if primary is None and self._none_since is None:
            self._none_since = t
            return
        if primary != self.primary or self._first_look:
            self._record(Topology(t if primary or self._none_since is None else self._none_since, primary))
            self.primary, self._first_look = primary, False
        if primary is not None:
            self._none_since = None

    def _look_at_members(self) -> dict[str, State]:
        control = self._stack.control
        return {
            member.name: control.state(member.name)
            for member in self._stack.members
            if member.is_fault_target
        }

    def _note_once(self, text: str) -> None:
        if text != self._last_error:
            self._last_error = text
            self._record(Note(self._clock.now(), text, by="watch"))
