"""A queue in memory in place of Kafka."""

from reference_app.domain.likes import LikeEvent
from reference_app.domain.model import Post
from reference_app.stores.memory.outage import Outages


class MemorySink:
    """Implements `EventSink`. A test takes what was sent and hands it to the workers' services."""

    def __init__(self, outages: Outages) -> None:
        self._outages = outages
        self.likes: list[LikeEvent] = []
        self.posts: list[Post] = []

    async def send_like(self, event: LikeEvent) -> None:
        self._outages.check("kafka")
        self.likes.append(event)

    def announce_post(self, post: Post) -> None:
        if "kafka" not in self._outages.gone:
            self.posts.append(post)
