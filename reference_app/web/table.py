"""What an operation is, so that serving it, checking its input and describing it come from one place."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from reference_app.app import App
from reference_app.web.params import CALLER, KEY, Param


class Call(msgspec.Struct, frozen=True):
    """A request whose input has been checked. `values` holds its parameters by name."""

    values: dict[str, Any]
    body: Any = None

    @property
    def caller(self) -> str:
        """The caller's id; empty where an operation does not ask who calls."""
        value: str = self.values.get(CALLER.name) or ""
        return value

    @property
    def key(self) -> str | None:
        value: str | None = self.values.get(KEY.name)
        return value


class Raw(msgspec.Struct, frozen=True):
    """A body that has been encoded already."""

    body: bytes


Answer: TypeAlias = msgspec.Struct | Raw
Handler: TypeAlias = Callable[[App, Call], Awaitable[Answer]]
Method: TypeAlias = Literal["GET", "PUT", "POST", "DELETE"]

NO_STORE: Final = "no-store"


@dataclass(frozen=True)
class Operation:
    """One route. `body` and `answer` are Structs; `problems` the error statuses besides 400, 503, 504."""

    method: Method
    path: str
    summary: str
    handler: Handler
    answer: type[msgspec.Struct]
    status: int = 200
    params: tuple[Param, ...] = ()
    body: type[msgspec.Struct] | None = None
    problems: tuple[int, ...] = ()
    cache: str = NO_STORE

    @property
    def name(self) -> str:
        """As it is called in metrics and reports."""
        return f"{self.method} {self.path}"
