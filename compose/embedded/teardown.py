"""Taking a stack down, whatever state its members are in."""

import shutil
import signal
import time

import msgspec

from compose.embedded import processes
from compose.embedded.state import StackFile
from compose.stack import StackError, State

WITHIN_S = 10.0


def take_down(file: StackFile, only: str | None = None) -> None:
    """Kill every member, delete their data and forget the stack. Nothing to do is fine too.

    `only` is the id of the stack that is meant, if another one may have come in its place.

    Members are killed and not asked: their data goes with them, and a paused one could not answer.

    Raises:
        StackError: a member was still there after 10 s. The stack is not forgotten then.
    """
    with file.locked() as record:
        if record is None or only not in (None, record.id):
            return
        record = msgspec.structs.replace(record, closing=True)  # nobody starts a member behind our back
        file.write(record)
    for member in record.members:
        processes.send(member.process, signal.SIGKILL)
    deadline = time.monotonic() + WITHIN_S
    for member in record.members:
        within_s = max(deadline - time.monotonic(), 0.0)
        if not processes.wait_for(member.process, State.DOWN, within_s=within_s):
            raise StackError(f"{member.name} (pid {member.process and member.process.pid}) cannot be killed")
    with file.locked() as current:
        if current is not None and current.id == record.id:
            shutil.rmtree(file.home / "data", ignore_errors=True)
            file.remove()
