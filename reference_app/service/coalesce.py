"""Many callers, one query: what is being fetched is fetched once, and remembered for a moment.

Own code: async caches from libraries either lock all keys at once or forget an old value before a new one is
there; here a value that could not be renewed is still served.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from reference_app.errors import StoreError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Concurrent calls for one key share one run. A caller that goes away does not end it for the others."""

    def __init__(self) -> None:
        self._flights: dict[K, asyncio.Task[V]] = {}

    async def run(self, key: K, work: Callable[[], Awaitable[V]]) -> V:
        task = self._flights.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(_as_coroutine(work))
            self._flights[key] = task
            task.add_done_callback(lambda done: self._landed(key, done))
        return await asyncio.shield(task)

    def _landed(self, key: K, task: "asyncio.Task[V]") -> None:
        self._flights.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever waited has been told; if nobody did, there is nobody to tell


class LocalCache(Generic[K, V]):
    """Values that this process trusts for `ttl_s`, at most `size` of them. A miss is fetched once for all.

    When a store fails while a value is renewed, the old value goes on being served.
    """

    def __init__(self, fetch: Callable[[K], Awaitable[V]], *, ttl_s: float, size: int = 10_000) -> None:
        self._fetch, self._ttl_s, self._size = fetch, ttl_s, size
        self._values: dict[K, tuple[float, V]] = {}
        self._flights: SingleFlight[K, V] = SingleFlight()

    async def get(self, key: K) -> V:
        known = self._values.get(key)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        try:
            return await self._flights.run(key, lambda: self._renew(key))
        except StoreError:
            if known is None:
                raise
            return known[1]

    def forget(self, key: K) -> None:
        self._values.pop(key, None)

    async def _renew(self, key: K) -> V:
        value = await self._fetch(key)
        if len(self._values) >= self._size:
            del self._values[next(iter(self._values))]
        self._values.pop(key, None)
        self._values[key] = (time.monotonic() + self._ttl_s, value)
        return value


async def _as_coroutine(work: Callable[[], Awaitable[V]]) -> V:
    return await work()
