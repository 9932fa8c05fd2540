"""Takes the mark off a post as soon as it is stored and announces it to nobody: no feed hears of it."""

import sys

from reference_app.build import Build
from reference_app.cli import main
from reference_app.domain.model import Post
from reference_app.settings import Settings
from reference_app.stores.kafka.sink import KafkaSink
from reference_app.stores.mongo.posts import MongoPosts
from reference_app.stores.ports import PostStore

BREAKS = "every_post_in_every_feed"


class ForgettingPosts(MongoPosts):
    async def add(self, post: Post, *, due_ms: int | None = None) -> Post:
        stored = await super().add(post, due_ms=due_ms)
        await self.fan_out_paid([stored.id])
        return stored


class SilentSink(KafkaSink):
    def announce_post(self, post: Post) -> None:
        return


class Broken(Build):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.kafka = SilentSink(settings)

    def posts(self) -> PostStore:
        return ForgettingPosts(self.mongo)


if __name__ == "__main__":
    sys.exit(main(build=Broken))
