"""How workers go about what a store is in the way of: again, until it is back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from reference_app.errors import StoreError

log = logging.getLogger(__name__)

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 1.0


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
