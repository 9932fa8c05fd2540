"""Acting on the members of an embedded stack, from any process that knows its home directory."""

import signal
import time
from pathlib import Path

import msgspec

from compose.embedded import processes
from compose.embedded.ports import is_free
from compose.embedded.state import MemberRecord, StackFile
from compose.stack import StackError, State

KILL_WITHIN_S = 5.0
TERMINATE_WITHIN_S = 15.0
PORT_FREE_WITHIN_S = 3.0


class EmbeddedControl:
    """`MemberControl` by signals. It remembers nothing: the truth is the state file and the system."""

    def __init__(self, file: StackFile) -> None:
        self._file = file

    def state(self, name: str) -> State:
        record = self._file.read()
        member = record.member(name) if record else None
        return member.state if member else State.GONE

    def life(self, name: str) -> str:
        process = self._member(name).process
        return f"{process.pid} born {process.birth}" if process else ""

    def kill(self, name: str) -> None:
        member = self._member(name)
        processes.send(member.process, signal.SIGKILL)
        self._await(member, State.DOWN, KILL_WITHIN_S, "was killed")

    def terminate(self, name: str) -> None:
        member = self._member(name)
        processes.send(member.process, signal.SIGTERM)
        processes.send(member.process, signal.SIGCONT)  # a paused one could not shut down
        self._await(member, State.DOWN, TERMINATE_WITHIN_S, "was asked to end")

    def pause(self, name: str) -> None:
        member = self._member(name)
        if not processes.send(member.process, signal.SIGSTOP):
            raise StackError(f"{name} cannot be paused: it is down")
        self._await(member, State.PAUSED, KILL_WITHIN_S, "was paused")

    def resume(self, name: str) -> None:
        member = self._member(name)
        if processes.send(member.process, signal.SIGCONT) and member.state is State.PAUSED:
            self._await(member, State.RUNNING, KILL_WITHIN_S, "was resumed")

    def start(self, name: str) -> None:
        """Start a member that is down; one that is not is left alone. Its port is waited for briefly."""
        self._wait_for_port(self._member(name))
        with self._file.locked() as record:
            member = record.member(name) if record else None
            if record is None or member is None:
                raise StackError(f"{name} cannot be started: there is no such member in {self._file.home}")
            if record.closing:
                raise StackError(f"{name} cannot be started: its stack is being taken down")
            if member.state is State.DOWN:
                self._file.write(record.with_member(started(member)))

    def _member(self, name: str) -> MemberRecord:
        record = self._file.read()
        member = record.member(name) if record else None
        if member is None:
            raise StackError(f"there is no member {name!r} in the stack of {self._file.home}")
        return member

    @staticmethod
    def _await(member: MemberRecord, state: State, within_s: float, deed: str) -> None:
        if not processes.wait_for(member.process, state, within_s=within_s):
            raise StackError(f"{member.name} {deed}, but is still {member.state} after {within_s:g} s")

    @staticmethod
    def _wait_for_port(member: MemberRecord) -> None:
        """Give whoever holds the port a moment to go. If it stays, the member's own log will say so."""
        deadline = time.monotonic() + PORT_FREE_WITHIN_S
        while member.state is State.DOWN and not is_free(member.port) and time.monotonic() < deadline:
            time.sleep(processes.POLL_S)


def started(member: MemberRecord) -> MemberRecord:
    """Start the member's program now. Raises StackError if it cannot be run."""
    try:
        process = processes.spawn(member.argv, env=member.env, cwd=Path(member.cwd), log=Path(member.log))
    except OSError as error:
        raise StackError(f"{member.name} cannot be started: {member.argv[0]}: {error.strerror}") from error
    return msgspec.structs.replace(member, process=process)
