"""A queue in memory in place of Kafka."""

from collections.abc import Callable

from reference_app.clock import now_ms
from reference_app.domain.likes import LikeEvent
from reference_app.domain.model import Announced, Post
from reference_app.stores.memory.outage import Outages


class MemorySink:
    """Implements `EventSink`. A test takes what was sent and hands it to the workers' services."""

    def __init__(self, outages: Outages, clock: Callable[[], int] = now_ms) -> None:
        self._outages, self._clock = outages, clock
        self.likes: list[LikeEvent] = []
        self.posts: list[Announced] = []

    @property
    def is_usable(self) -> bool:
        return "kafka" not in self._outages.gone

    async def send_like(self, event: LikeEvent) -> None:
        self._outages.check("kafka")
        self.likes.append(event)

    def announce_post(self, post: Post) -> None:
        if self.is_usable:
            self.posts.append(Announced(post, self._clock()))
