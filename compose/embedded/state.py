"""`stack.json`: what any later command has to know to find, signal and restart the members of a stack."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from compose.embedded.processes import Process, state_of
from compose.stack import Component, Endpoints, Link, Member, StackError, StackOptions, State


class MemberRecord(msgspec.Struct, frozen=True):
    """A member and how to start it: `env` is added to the environment. `process` None: never started."""

    name: str
    component: Component
    argv: tuple[str, ...]
    cwd: str
    log: str
    port: int
    env: dict[str, str] = {}
    kind: str | None = None
    process: Process | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def state(self) -> State:
        return state_of(self.process)

    def as_member(self) -> Member:
        return Member(self.name, self.component, self.address, self.kind, Path(self.log))


class StackRecord(msgspec.Struct, frozen=True):
    """The whole stack. `id` is new with every `up`; `closing` forbids further starts."""

    id: str
    started_at: str
    options: StackOptions
    members: tuple[MemberRecord, ...]
    links: tuple[Link, ...]
    endpoints: Endpoints
    limits: tuple[str, ...]
    versions: dict[str, str]
    app_env: dict[str, str]
    cwd: str
    closing: bool = False

    def member(self, name: str) -> MemberRecord | None:
        return next((member for member in self.members if member.name == name), None)

    def with_member(self, changed: MemberRecord) -> "StackRecord":
        members = tuple(changed if member.name == changed.name else member for member in self.members)
        return msgspec.structs.replace(self, members=members)

    @property
    def mongo_addresses(self) -> list[str]:
        """The Mongo members as clients know them, in the order of their names."""
        return self.endpoints.mongo_uri.removeprefix("mongodb://").partition("/")[0].split(",")

    @property
    def alive(self) -> tuple[MemberRecord, ...]:
        return tuple(member for member in self.members if member.state is not State.DOWN)


class StackFile:
    """`<home>/stack.json`. Read without a lock, since it is replaced as a whole; changed under a lock."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._path = home / "stack.json"

    def read(self) -> StackRecord | None:
        """The stack, or None if there is none. Raises StackError if the file makes no sense."""
        try:
            record = msgspec.json.decode(self._path.read_bytes(), type=StackRecord)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError) as error:
            raise StackError(
                f"{self._path} cannot be read as a stack ({error}); delete it if no stack is up"
            ) from error
        return record

    @contextmanager
    def locked(self) -> Iterator[StackRecord | None]:
        """The record, which nobody else changes meanwhile. Use `write` or `remove` inside."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "stack.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.read()

    def write(self, record: StackRecord) -> None:
        """Replace the record: a reader sees the old one or the new one, never a part of either."""
        scratch = self._path.with_suffix(".json.new")
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # settings may hold passwords
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(record)))
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
