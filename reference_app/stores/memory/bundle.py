"""All stores in memory, together."""

from collections.abc import Callable

from reference_app.clock import now_ms
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores
from reference_app.stores.memory.cache import Cache, MemoryBodies, MemoryCounters, MemoryFeeds
from reference_app.stores.memory.content import (
    MemoryComments,
    MemoryHeartbeats,
    MemoryLikes,
    MemoryMedia,
    MemoryPosts,
)
from reference_app.stores.memory.graph import MemoryGraph
from reference_app.stores.memory.outage import Outages
from reference_app.stores.memory.sink import MemorySink
from reference_app.stores.memory.truth import Truth


class MemoryStores(Stores):
    """`truth` and `cache` are what is held, `outages` what is gone, `queue` what was sent."""

    def __init__(self, settings: Settings, clock: Callable[[], int] = now_ms) -> None:
        self.outages = Outages()
        self.truth, self.cache = Truth(self.outages), Cache(self.outages, clock)
        self.queue = MemorySink(self.outages, clock)
        super().__init__(
            graph=MemoryGraph(self.truth),
            posts=MemoryPosts(self.truth),
            likes=MemoryLikes(self.truth, shard_count=settings.like_shards),
            comments=MemoryComments(self.truth),
            media=MemoryMedia(self.truth),
            heartbeats=MemoryHeartbeats(self.truth),
            feeds=MemoryFeeds(self.cache, size=settings.feed_size),
            bodies=MemoryBodies(self.cache),
            counters=MemoryCounters(self.cache),
            sink=self.queue,
        )
