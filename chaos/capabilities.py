"""What a driver can do to a target. Faults ask for these, never for a driver by name."""

from collections.abc import Callable
from typing import Protocol, TypeVar, cast, runtime_checkable

from chaos.errors import CannotInjectError
from compose.stack import State

OURS = "feedstorm-"
"""Every toxic of ours has a name that begins so; what others put on a proxy is left alone."""


@runtime_checkable
class CanKill(Protocol):
    """End a process without warning, and start it again."""

    def kill(self, name: str) -> None: ...
    def start(self, name: str) -> None: ...
    def state(self, name: str) -> State: ...


@runtime_checkable
class CanTerminate(Protocol):
    """Ask a process to end, and start it again. `life` is another one after every start."""

    def life(self, name: str) -> str: ...
    def terminate(self, name: str) -> None: ...
    def start(self, name: str) -> None: ...
    def state(self, name: str) -> State: ...


@runtime_checkable
class CanPause(Protocol):
    """Freeze a process."""

    def pause(self, name: str) -> None: ...
    def resume(self, name: str) -> None: ...
    def state(self, name: str) -> State: ...


@runtime_checkable
class CanIsolate(Protocol):
    """Take a member off every network. `seats` says where it is now, for `rejoin` to put it back."""

    def seats(self, name: str) -> str: ...
    def isolate(self, name: str) -> None: ...
    def rejoin(self, name: str, seats: str) -> None: ...
    def is_isolated(self, name: str) -> bool: ...


@runtime_checkable
class CanStarve(Protocol):
    """Leave a process only a share of its CPU time. `token` names the act; starving twice is one act."""

    def starve(self, name: str, share: float, token: str) -> None: ...
    def feed(self, name: str, token: str) -> None: ...
    def is_starved(self, name: str, token: str) -> bool: ...


@runtime_checkable
class CanStepDown(Protocol):
    """Make a Mongo primary give up its office."""

    def step_down(self, name: str, for_s: float) -> None: ...
    def primary(self) -> str | None: ...


@runtime_checkable
class CanFlush(Protocol):
    """Empty a Redis server."""

    def flush(self, name: str) -> None: ...
    def key_count(self, name: str) -> int: ...


@runtime_checkable
class CanRefuseWrites(Protocol):
    """Make a Redis server refuse every write, and accept them again."""

    def refuse_writes(self, name: str) -> None: ...
    def accept_writes(self, name: str) -> None: ...
    def accepts_writes(self, name: str) -> bool: ...


@runtime_checkable
class CanCut(Protocol):
    """Close a link: open connections break, new ones are refused."""

    def cut(self, link: str) -> None: ...
    def mend(self, link: str) -> None: ...
    def is_cut(self, link: str) -> bool: ...


@runtime_checkable
class CanDisturb(Protocol):
    """Put toxics on a link. `toxic` is a name that begins with `OURS`; times are milliseconds."""

    def add_toxic(
        self, link: str, toxic: str, kind: str, stream: str, attributes: dict[str, int]
    ) -> None: ...
    def remove_toxic(self, link: str, toxic: str) -> None: ...
    def toxics(self, link: str) -> set[str]: ...


Capability = TypeVar("Capability")


def need(driver: object, capability: Callable[..., Capability], fault: str) -> Capability:
    """The driver, if it has the capability. (Typed as a callable, because a Protocol is not a `type`.)

    Raises:
        CannotInjectError: it has not; says what is missing.
    """
    if isinstance(driver, cast(type, capability)):
        return cast(Capability, driver)
    name = getattr(driver, "name", type(driver).__name__)
    what = (cast(type, capability).__doc__ or "").split(".")[0].strip()
    raise CannotInjectError(f"{fault}: the {name} driver cannot do this: {what[:1].lower()}{what[1:]}")
