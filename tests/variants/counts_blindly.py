"""Adds to the follower count on every request to follow, whether or not anything has changed."""

import sys

from reference_app.build import Build
from reference_app.cli import main
from reference_app.domain.model import Relation
from reference_app.stores.mongo.graph import MongoGraph
from reference_app.stores.ports import GraphStore

BREAKS = "counters_exact"


class BlindGraph(MongoGraph):
    async def set_following(
        self, follower: str, followee: str, *, active: bool, now_ms: int
    ) -> Relation | None:
        relation = await super().set_following(follower, followee, active=active, now_ms=now_ms)
        await self._users.update_one({"_id": followee}, {"$inc": {"followerCount": 1 if active else -1}})
        return relation


class Broken(Build):
    def graph(self) -> GraphStore:
        return BlindGraph(self.mongo)


if __name__ == "__main__":
    sys.exit(main(build=Broken))
