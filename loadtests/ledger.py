"""The ledger of one process: every write, what was asked and what came back, kept until it is written."""

import itertools
import os
from typing import Final

from loadtests.http.response import Response
from results.history import Clock, LedgerEntry, OutcomeName, WriteKind


class Ledger:
    """`take` hands out the entries since the last time. Idempotency keys are unique over all runs."""

    def __init__(self, clock: Clock, worker: str) -> None:
        self._clock, self._worker = clock, worker
        self._entries: list[LedgerEntry] = []
        self._prefix: Final = os.urandom(6).hex()
        self._numbers = itertools.count(1)

    def new_key(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    def record(
        self, kind: WriteKind, actor: str, target: str, key: str, response: Response, new_id: str = ""
    ) -> None:
        """A write has ended. A wrong body does not undo it: what counts here is the status."""
        t0 = self._clock.t0
        self._entries.append(
            LedgerEntry(
                t=round(response.intended - t0, 6),
                done=round(response.ended_at - t0, 6),
                kind=kind,
                outcome=_outcome(response),
                actor=actor,
                target=target,
                key=key,
                id=new_id,
                status=response.status_code,
                worker=self._worker,
            )
        )

    def abandoned(self, kind: WriteKind, actor: str, target: str, key: str, began: float) -> None:
        """A write in flight was cut off at the end of the run: it may have been done."""
        self._entries.append(
            LedgerEntry(
                t=round(began - self._clock.t0, 6),
                done=round(self._clock.now(), 6),
                kind=kind,
                outcome="unknown",
                actor=actor,
                target=target,
                key=key,
                worker=self._worker,
                abandoned=True,
            )
        )

    def take(self) -> list[LedgerEntry]:
        entries, self._entries = self._entries, []
        return entries


def _outcome(response: Response) -> OutcomeName:
    if 200 <= response.status_code < 400:
        return "ok"
    outcome = response.verdict.outcome
    return "failed" if outcome == "ok" else outcome  # an expected 404 or 409: right, and nothing was done
