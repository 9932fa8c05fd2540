"""Leases: the durable record of every fault in force, written before the fault is.

One file per lease in `<home>/leases`, synced to disk before anything is injected and removed only
when the undo was done and seen to have taken. So whatever happens to the runner, the directory
names what is broken, and how to undo it. Everyone who changes a lease holds the lock.
"""

import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

from chaos.faults import Fault, Undo, make, options_of

GRACE_S = 5.0
"""How long after its planned end a lease may be open before the reaper takes over from the runner."""


class Owner(msgspec.Struct, frozen=True):
    """The process that answers for a lease. The start time keeps a reused pid from standing in for it."""

    pid: int
    started: float

    @classmethod
    def this_process(cls) -> "Owner":
        return cls(os.getpid(), psutil.Process().create_time())

    def is_alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 0.1
            return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.NoSuchProcess:
            return False


class Grip(msgspec.Struct, frozen=True):
    """What a lease holds of one target."""

    target: str
    undo: Undo


class Lease(msgspec.Struct, omit_defaults=True):
    """One fault in force. Times are `time.monotonic()`, which every process of a machine shares.

    `run` is the directory of the run it belongs to, `t0` that run's start: whoever heals the lease
    writes so into that history.
    """

    id: str
    fault: str
    options: dict[str, Any]
    on: str
    grips: list[Grip]
    owner: Owner
    made_at: float
    until: float
    run: str = ""
    t0: float = 0.0
    failures: int = 0
    last_error: str = ""

    @classmethod
    def draw(
        cls, fault: Fault, on: str, *, held_for_s: float, number: int, run: str = "", t0: float = 0.0
    ) -> "Lease":
        """A new lease with no grips yet, owned by this process. `number` orders the leases of a run."""
        now = time.monotonic()
        return cls(
            id=f"{number:02d}-{fault.name}-{uuid.uuid4().hex[:6]}",
            fault=fault.name,
            options=options_of(fault),
            on=on,
            grips=[],
            owner=Owner.this_process(),
            made_at=now,
            until=now + held_for_s + GRACE_S,
            run=run,
            t0=t0,
        )

    @property
    def targets(self) -> list[str]:
        return [grip.target for grip in self.grips]

    def make_fault(self) -> Fault:
        return make(self.fault, self.options)

    def why_overdue(self) -> str:
        """Why somebody else than its owner must heal it now; empty if nobody must."""
        if not self.owner.is_alive():
            return f"its runner (pid {self.owner.pid}) is gone"
        if time.monotonic() > self.until:
            return "it is past its deadline"
        return ""


class LeaseBook:
    """The leases of one stack, in its home directory."""

    def __init__(self, home: Path) -> None:
        self._directory = home / "leases"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process, and one thread of it, changes faults and leases at a time."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def write(self, lease: Lease) -> None:
        """Returns once the lease would survive a power cut. Raises OSError."""
        self._directory.mkdir(parents=True, exist_ok=True)
        temporary = self._directory / f".{lease.id}.tmp"
        with temporary.open("wb") as file:
            file.write(msgspec.json.encode(lease))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path(lease))
        self._sync_directory()

    def remove(self, lease: Lease) -> None:
        self._path(lease).unlink(missing_ok=True)
        self._sync_directory()

    def holds(self, lease: Lease) -> bool:
        return self._path(lease).exists()

    def all(self) -> list[Lease]:
        """Every lease in force, the oldest first; see `unreadable` for files that are none."""
        found = []
        for path in self._directory.glob("*.json"):
            try:
                found.append(_read(path))
            except (FileNotFoundError, msgspec.DecodeError):
                continue  # healed by somebody else meanwhile; or none of ours, which must not stop the others
        return sorted(found, key=lambda lease: lease.made_at)

    def unreadable(self) -> list[Path]:
        """Files among the leases that cannot be read as one: nobody knows what to undo for them."""
        return [path for path in sorted(self._directory.glob("*.json")) if _is_unreadable(path)]

    def _path(self, lease: Lease) -> Path:
        return self._directory / f"{lease.id}.json"

    def _sync_directory(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(path: Path) -> Lease:
    return msgspec.json.decode(path.read_bytes(), type=Lease)


def _is_unreadable(path: Path) -> bool:
    try:
        _read(path)
    except FileNotFoundError:
        return False
    except msgspec.DecodeError:
        return True
    return False
