"""Many things done some at a time, with the first error raised as itself.

Not `asyncio.TaskGroup`: it raises an `ExceptionGroup`, which nobody who waits for a `StoreError` catches.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def in_parallel(
    items: Iterable[T], work: Callable[[T], Awaitable[object]], *, at_once: int = 4
) -> None:
    """Do `work` for every item, a few at a time, and all of them. Raises the first error afterwards.

    A few, and not many: after an outage a store that is slow would get more at once than it can do within the
    time-outs, and everything would be done again for ever (seen with 16).
    """
    slots = asyncio.Semaphore(at_once)

    async def one(item: T) -> None:
        async with slots:
            await work(item)

    results = await asyncio.gather(*map(one, items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
