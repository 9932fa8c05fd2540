"""What can go wrong, and what it means for whoever started the command.

    ChaosError
    ├── UsageError             2   the command line or a drill file asks for something that does not exist
    │   └── DrillError             ... in a drill file: says where in it
    ├── CouldNotRunError       4   the stack, the swarm or a file could not be had
    ├── CannotInjectError      4   this fault cannot be put on that target, and why
    ├── HealError              4   the undo was done and did not take
    └── InterruptedRunError  130   a signal ended the run; everything was healed

Every message is one plain sentence: what was tried, on what, what came back, what to do next.
"""

from typing import ClassVar


class ChaosError(Exception):
    exit_code: ClassVar[int] = 4


class UsageError(ChaosError):
    exit_code = 2


class DrillError(UsageError):
    """A drill file is wrong. `where` is the file and, where known, the line."""

    def __init__(self, message: str, where: str = "") -> None:
        self.where = where
        super().__init__(f"{where}: {message}" if where else message)


class CouldNotRunError(ChaosError):
    pass


class CannotInjectError(ChaosError):
    pass


class HealError(ChaosError):
    pass


class InterruptedRunError(ChaosError):
    exit_code = 130
