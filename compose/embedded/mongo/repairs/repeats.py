"""A write that a driver sends again is applied once, and remembering the first attempt costs little."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import secantus.commands
import secantus.server
import secantus.storage
import secantus.transactions
from secantus.transactions import TransactionRegistry

Json = Mapping[str, Any]  # commands and replies, as SecantusDB's own code has them


def repeats_are_found_cheaply() -> None:
    """Stock: every retryable write walks all remembered ones (10,000) twice to find what has expired.

    Shows as 1,500 writes/s falling to 100 writes/s after 10,000 writes. Repaired: the records stand in
    the order of their age, so only the oldest are looked at.
    """

    def prune(registry: Any) -> None:
        records, now = registry._retryable, registry._time()
        lifetime = secantus.transactions._RETRYABLE_RECORD_LIFETIME_SECONDS
        while records:
            oldest = next(iter(records))
            is_excess = len(records) > secantus.transactions._RETRYABLE_RECORD_MAX
            if not is_excess and now - records[oldest][1] < lifetime:
                return
            del records[oldest]

    TransactionRegistry._prune_retryable_locked = prune


def repeats_are_known_despite_less_time() -> None:
    """Stock: a repeat that comes with another `maxTimeMS` counts as a new write.

    Drivers with `timeoutMS` send what is left of the time, so every repeat differs; it shows as a doubled
    `$inc` or a DuplicateKeyError. Repaired: `maxTimeMS` is no part of a write's identity.
    """
    secantus.commands._RETRY_IDENTITY_IGNORED |= {"maxTimeMS"}


def a_repeat_waits_for_its_original() -> None:
    """Stock: a repeat runs beside its original when that is still under way, and both are applied.

    Drivers repeat after a time-out of their own. mongod lets one operation of a session run at a time;
    repaired, the store does so too for retryable writes.
    """
    dispatch = secantus.server.dispatch
    one_at_a_time = KeyedLocks()

    def dispatch_in_turn(command: Json, context: Any) -> Any:
        if "txnNumber" not in command or command.get("autocommit") is False:
            return dispatch(command, context)
        session = bytes((command.get("lsid") or {}).get("id") or b"")
        with one_at_a_time.held(session):
            return dispatch(command, context)

    secantus.server.dispatch = dispatch_in_turn


class KeyedLocks:
    """A lock per key, kept only while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[bytes, tuple[threading.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @contextmanager
    def held(self, key: bytes) -> Iterator[None]:
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks[key]
                if users == 1:
                    del self._locks[key]
                else:
                    self._locks[key] = lock, users - 1
