"""Remembers the first page of a feed that it ever read for a user, and shows nothing else to them again."""

import sys

from reference_app.build import Build
from reference_app.cli import main
from reference_app.domain.feed import Entry
from reference_app.stores.ports import FeedCache, FeedSlice
from reference_app.stores.redis.feeds import RedisFeeds
from reference_app.stores.redis.link import RedisLink

BREAKS = "every_post_in_every_feed"


class FrozenFeeds(RedisFeeds):
    def __init__(self, link: RedisLink, *, size: int) -> None:
        super().__init__(link, size=size)
        self._first_seen: dict[tuple[str, Entry | None], FeedSlice] = {}

    async def read(self, user: str, *, after: Entry | None, limit: int) -> FeedSlice:
        known = self._first_seen.get((user, after))
        if known is None:
            known = await super().read(user, after=after, limit=limit)
            if known.entries:
                self._first_seen[user, after] = known
        return known


class Broken(Build):
    def feeds(self) -> FeedCache:
        return FrozenFeeds(self.redis, size=self.settings.feed_size)


if __name__ == "__main__":
    sys.exit(main(build=Broken))
