"""The app on stores in memory, and what a test does with it."""

from collections.abc import Callable, Sequence

import msgspec

from reference_app.app import App
from reference_app.clock import now_ms
from reference_app.domain.feed import Entry
from reference_app.domain.ids import pair_id
from reference_app.domain.model import User
from reference_app.settings import Settings
from reference_app.stores.memory.bundle import MemoryStores
from reference_app.views import PostView
from reference_app.workers.upkeep import UpkeepWorker


def settings(**changes: object) -> Settings:
    """Small numbers; nothing remembered in the process; what is owed is due at once."""
    values: dict[str, object] = {
        "celebrity_threshold": 3,
        "like_shards": 4,
        "local_cache_s": 0.0,
        "outbox_grace_s": -1.0,
        "count_grace_s": -1.0,
        "rebuild_rps": 1e9,
        "fallback_rps": 1e9,
    }
    return Settings(**(values | changes))  # type: ignore[arg-type]  # a test names real settings


class World:
    def __init__(self, clock: Callable[[], int] = now_ms, **changes: object) -> None:
        """`clock` says when posts were stored and when the cache was emptied."""
        self.settings = settings(**changes)
        self.stores = MemoryStores(self.settings, clock)
        self.app = App(self.stores, self.settings)
        self.upkeep = UpkeepWorker(self.app)

    @property
    def gone(self) -> set[str]:
        """Names of stores to take away."""
        return self.stores.outages.gone

    async def join(self, *names: str) -> list[str]:
        users = [await self.app.people.add(name, user_id=None, caller="", key=name) for name in names]
        return [user.id for user in users]

    async def post(self, author: str, text: str, key: str | None = None) -> str:
        return (await self.app.posting.publish(author, text, tags=(), media_id=None, key=key)).id

    async def follow(self, follower: str, *followees: str) -> None:
        for followee in followees:
            await self.app.relating.set_following(follower, followee, active=True)

    async def unfollow(self, follower: str, followee: str) -> None:
        await self.app.relating.set_following(follower, followee, active=False)

    async def feed(self, user: str, limit: int = 3) -> list[str]:
        """Post ids of the whole feed, walked page by page."""
        ids: list[str] = []
        after: Entry | None = None
        while True:
            page = await self.app.reader.page(user, after=after, limit=limit)
            ids += [msgspec.json.decode(body, type=PostView).id for body in page.posts]
            if page.last is None:
                return ids
            after = page.last

    async def fan_out(self) -> None:
        """What the fan-out workers do with everything that was announced."""
        while self.stores.queue.posts:
            await self.app.fan_out.deliver_announced([self.stores.queue.posts.pop(0)])

    async def take_likes(self) -> None:
        events = list(self.stores.queue.likes)
        await self.app.liking.apply(events)
        del self.stores.queue.likes[: len(events)]

    async def settle(self) -> None:
        """Let everything that is owed be paid, as it is when all stores are there."""
        self.gone.clear()
        await self.take_likes()
        await self.fan_out()
        for _ in range(3):
            trouble = await self.upkeep.sweep()
            assert trouble is None, trouble
        assert await self.stores.posts.owed() == 0

    # -- what must be true -----------------------------------------------------------------

    def right_feed(self, user: str) -> list[str]:
        truth = self.stores.truth
        followees = {
            followee
            for (follower, followee), follow in truth.follows.items()
            if follower == user and follow.relation.active
        }
        posts = [post for post in truth.posts.values() if post.author_id in followees]
        return [post.id for post in sorted(posts, key=lambda post: (post.created_ms, post.id), reverse=True)]

    async def check(self, users: Sequence[str]) -> None:
        """Feeds hold each right post exactly once; counters are what the rows say, in truth and in cache."""
        truth = self.stores.truth
        for user in users:
            assert await self.feed(user) == self.right_feed(user)
            self._check_counts(truth.users[user])
        for post in truth.posts.values():
            likers = {who for (on, who), row in truth.rows.items() if on == post.id and row.active}
            assert post.like_count == len(likers)
            assert set(post.recent_likers) <= likers
            assert await self.app.liking.count(post.id) == len(likers)
            assert post.comment_count == sum(one.post_id == post.id for one in truth.comments.values())
            shown = msgspec.json.decode(await self.app.posting.body(post.id), type=PostView)
            assert (shown.like_count, shown.comment_count) == (post.like_count, post.comment_count)

    def _check_counts(self, user: User) -> None:
        pairs = {
            pair_id(*pair): pair
            for pair, follow in self.stores.truth.follows.items()
            if follow.relation.active
        }
        assert user.follower_count == sum(followee == user.id for _, followee in pairs.values())
        assert user.following_count == sum(follower == user.id for follower, _ in pairs.values())
