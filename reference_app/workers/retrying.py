"""How workers go about many things: some at a time, and until a store is back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from reference_app.errors import StoreError

log = logging.getLogger(__name__)

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 1.0


T = TypeVar("T")


async def in_parallel(
    items: Iterable[T], work: Callable[[T], Awaitable[object]], *, at_once: int = 4
) -> None:
    """Do `work` for every item, a few at a time, and all of them. Raises the first error afterwards."""
    slots = asyncio.Semaphore(at_once)

    async def one(item: T) -> None:
        async with slots:
            await work(item)

    results = await asyncio.gather(*map(one, items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def until_done(what: str, work: Callable[[], Awaitable[object]]) -> None:
    """Call `work` until no store is in its way, with growing pauses. `work` must be harmless to repeat."""
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            await work()
            return
        except StoreError as error:
            if pause_s == FIRST_PAUSE_S:
                log.warning("%s waits: %s", what, error)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
