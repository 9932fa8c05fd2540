"""Stores every post a second time under another id, as a replayed write without a key would."""

import sys
import uuid

from msgspec.structs import replace

from reference_app.build import Build
from reference_app.cli import main
from reference_app.domain.model import Post
from reference_app.stores.mongo.posts import MongoPosts
from reference_app.stores.ports import PostStore

BREAKS = "no_write_applied_twice"


class DoublingPosts(MongoPosts):
    async def add(self, post: Post, *, due_ms: int | None = None) -> Post:
        stored = await super().add(post, due_ms=due_ms)
        await super().add(replace(stored, id=str(uuid.uuid5(uuid.NAMESPACE_OID, stored.id))))
        return stored


class Broken(Build):
    def posts(self) -> PostStore:
        return DoublingPosts(self.mongo)


if __name__ == "__main__":
    sys.exit(main(build=Broken))
