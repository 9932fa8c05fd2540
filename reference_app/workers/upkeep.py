"""Upkeep: does what is owed. Every pass may be cut off anywhere, or run in two places at once."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from reference_app.app import App
from reference_app.clock import now_ms
from reference_app.errors import StoreError
from reference_app.metrics import Metrics
from reference_app.parallel import in_parallel
from reference_app.workers.worker import NotReadyError

log = logging.getLogger(__name__)

BATCH: Final = 100
_NAME: Final = "upkeep"
_PAUSE_IN_TROUBLE_S: Final = 1.0
_WATCH_EVERY_S: Final = 0.75
_SILENCE_S: Final = 2.0


class UpkeepWorker:
    """Implements `Worker`: counters, the outbox sweeper, celebrities, thumbnails.

    With `stands_in` it does nothing but watch for signs of life of another that works, and works while there
    are none. That two work at once for a moment does no harm, so nobody has to be elected.
    """

    def __init__(self, app: App, *, stands_in: bool = False) -> None:
        self._app, self._stands_in = app, stands_in
        self._last_beat: int | None = None
        self._last_beat_seen = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._trouble: str | None = "no pass has been made yet"
        self._owed = 0.0 if stands_in else float("nan")

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="upkeep")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def ready(self) -> None:
        if self._trouble is not None:
            raise NotReadyError(self._trouble)

    def measure(self, metrics: Metrics) -> None:
        metrics.gauge("feed_outbox_pending", "What is written and still owed to others.", lambda: self._owed)

    async def _run(self) -> None:
        while True:
            if self._stands_in and await self._somebody_works():
                self._owed = 0.0
                await asyncio.sleep(_WATCH_EVERY_S)
                continue
            trouble = await self.sweep()
            if trouble and self._trouble is None:
                log.warning("upkeep waits: %s", trouble)
            self._trouble = trouble
            pause_s = _PAUSE_IN_TROUBLE_S if trouble else self._app.settings.sweep_every_s
            await asyncio.gather(self._count_owed(), asyncio.sleep(pause_s))

    async def _somebody_works(self) -> bool:
        """Judged by whether the sign of life changes, on our clock alone: others' clocks may be off."""
        try:
            beat = await self._app.stores.heartbeats.last(_NAME)
        except StoreError:
            return True  # without the store there is no upkeep to be done
        if beat != self._last_beat:
            self._last_beat, self._last_beat_seen = beat, time.monotonic()
        return time.monotonic() - self._last_beat_seen < _SILENCE_S

    async def sweep(self) -> str | None:
        """One pass over everything; what failed, if anything. The other duties are done all the same.

        Feeds come first: while Kafka is away this is how posts reach them.
        """
        trouble: str | None = None
        duties: tuple[Callable[[], Awaitable[None]], ...] = (
            self._beat,
            self._fan_out,
            self._feeds,
            self._follow_counts,
            self._comment_counts,
            self._like_counts,
            self._celebrities,
            self._thumbnails,
        )
        for duty in duties:
            try:
                await duty()
            except StoreError as error:
                trouble = str(error)
            except Exception as error:  # a defect in one duty must not end all upkeep
                log.exception("upkeep failed in %s", duty.__name__)
                trouble = f"{duty.__name__}: {type(error).__name__}"
        return trouble

    async def _beat(self) -> None:
        if not self._stands_in:
            await self._app.stores.heartbeats.beat(_NAME, now_ms())

    async def _follow_counts(self) -> None:
        graph, grace_ms = self._app.stores.graph, int(self._app.settings.count_grace_s * 1000)
        while await graph.settle_counts(before_ms=now_ms() - grace_ms, limit=BATCH) == BATCH:
            pass

    async def _comment_counts(self) -> None:
        await self._app.stores.comments.settle_counts(limit=BATCH)
        await self._app.posting.show_changed(limit=BATCH)

    async def _like_counts(self) -> None:
        await in_parallel(await self._app.stores.likes.owed(limit=BATCH), self._app.liking.write_back)

    async def _fan_out(self) -> None:
        """The newest first: the worker comes from the other end, and so they meet in the middle."""
        posts = await self._app.stores.posts.fan_out_owed(now_ms=now_ms(), limit=BATCH)
        await self._app.fan_out.deliver(posts[::-1])

    async def _feeds(self) -> None:
        await self._app.relating.feeds_began_ms()
        relations = await self._app.stores.graph.feed_owed(before_ms=self._grace_ms(), limit=BATCH)
        await in_parallel(relations, self._app.relating.bring_up)

    async def _celebrities(self) -> None:
        if self._app.settings.strategy == "hybrid":
            for user in await self._app.stores.graph.miscast(self._app.threshold, limit=BATCH):
                await self._app.relating.recast(user)

    async def _thumbnails(self) -> None:
        await self._app.uploading.make_thumbnails(limit=BATCH)

    def _grace_ms(self) -> int:
        """What was written before this instant has had its chance on the fast path."""
        return now_ms() - int(self._app.settings.outbox_grace_s * 1000)

    async def _count_owed(self) -> None:
        try:
            self._owed = float(await self._app.stores.posts.owed())
        except StoreError:
            self._owed = float("nan")
