"""The only way to wait for something: with a name, a bound, and the last thing that was seen."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload


class NeverHappenedError(TimeoutError):
    """What was waited for did not happen within its bound."""

    def __init__(self, what: str, within_s: float, last: str) -> None:
        self.what, self.within_s, self.last = what, within_s, last
        super().__init__(
            f"{what} did not happen within {within_s:g} s" + (f" (last: {last})" if last else "")
        )


T = TypeVar("T")


@overload
async def wait_until(
    ready: Callable[[], Awaitable[T]], what: str, *, within_s: float, every_s: float = 0.05
) -> T: ...


@overload
async def wait_until(ready: Callable[[], T], what: str, *, within_s: float, every_s: float = 0.05) -> T: ...


async def wait_until(
    ready: Callable[[], T | Awaitable[T]], what: str, *, within_s: float, every_s: float = 0.05
) -> T:
    """Call `ready` until its result is truthy and return that result.

    An exception raised by `ready` counts as "not yet" and is quoted if the bound runs out.
    `what` completes the sentence "... did not happen", e.g. `"mongo1 becoming primary"`.

    Raises:
        NeverHappenedError: `within_s` seconds passed first.
    """
    deadline, last = time.monotonic() + within_s, ""
    while True:
        try:
            result = ready()
            value = await result if inspect.isawaitable(result) else result
            if value:
                return value
            last = ""
        except Exception as error:  # whatever is not ready yet may fail in any way
            last = f"{type(error).__name__}: {error}"
        if time.monotonic() >= deadline:
            raise NeverHappenedError(what, within_s, last)
        await asyncio.sleep(every_s)
