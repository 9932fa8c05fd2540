"""How posts reach their author's followers."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from reference_app.clock import now_ms
from reference_app.domain.feed import Entry
from reference_app.domain.model import Announced, Post
from reference_app.errors import StoreError
from reference_app.parallel import in_parallel
from reference_app.service.relating import Relating
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores

CHUNK: Final = 16
"""Posts that share their queries, and whose marks are cleared together."""
CLOCK_MARGIN_MS: Final = 2000
"""How far the clocks of two processes may be apart."""


class FanOut:
    """Carries posts into feeds. Doing it twice, or in two places at once, changes nothing."""

    def __init__(self, stores: Stores, settings: Settings, relating: Relating) -> None:
        self._stores, self._settings, self._relating = stores, settings, relating

    async def deliver_announced(self, announced: Sequence[Announced]) -> None:
        """As `deliver`, but for what was stored before the cache was last empty: every feed in it has been
        built since, from Mongo, where these posts were. After an outage that is most of a backlog.

        Not for posts that are found owing: when those were stored nobody knows, as a frozen Mongo may have
        done it long after they were made.
        """
        empty_ms = await self._relating.feeds_began_ms() - CLOCK_MARGIN_MS
        await self.deliver([post for post, stored_ms in announced if stored_ms >= empty_ms])
        if built := [post.id for post, stored_ms in announced if stored_ms < empty_ms]:
            await self._stores.posts.fan_out_paid(built)

    async def deliver(self, posts: Sequence[Post]) -> None:
        """Raises StoreError, after all that could be done; the rest still owe their fan-out.

        What costs little goes first: posts of celebrities are not pushed, and do not wait for those that are.
        """
        trouble: StoreError | None = None
        in_order = sorted(posts, key=lambda post: not post.celebrity)
        for start in range(0, len(in_order), CHUNK):
            await self._relating.feeds_began_ms()
            try:
                await self._deliver(await self._still_owing(in_order[start : start + CHUNK]))
            except StoreError as error:
                trouble = trouble or error
        if trouble is not None:
            raise trouble

    async def _still_owing(self, posts: Sequence[Post]) -> list[Post]:
        """After an outage the worker and the sweeper go through the same backlog: neither does again what the
        other has done. What is too new for the sweeper is not looked up."""
        since_ms = now_ms() - int(self._settings.outbox_grace_s * 1000)
        old = {post.id for post in posts if post.created_ms < since_ms}
        paid = old - await self._stores.posts.fan_out_owing(list(old)) if old else old
        return [post for post in posts if post.id not in paid]

    async def _deliver(self, posts: Sequence[Post]) -> None:
        if self._settings.strategy == "hybrid":
            await self._publish(posts)
        pushed: dict[str, list[Post]] = defaultdict(list)
        done: list[Post] = []
        for post in posts:
            if self._settings.strategy == "pull" or (self._settings.strategy == "hybrid" and post.celebrity):
                done.append(post)
            else:
                pushed[post.author_id].append(post)

        async def push(author: str) -> None:
            await self._push(author, pushed[author])
            done.extend(pushed[author])

        try:
            await in_parallel(pushed, push)
        finally:  # what was done is done, whatever became of the rest
            if done:
                await self._stores.posts.fan_out_paid([post.id for post in done])

    async def _publish(self, posts: Sequence[Post]) -> None:
        """Where readers merge their authors' posts."""
        authors = await self._stores.graph.users(list({post.author_id for post in posts}))
        pulled = {author.id for author in authors if author.pulled}
        for post in posts:
            if post.author_id in pulled:
                await self._stores.feeds.publish(post.author_id, Entry(post.created_ms, post.id))

    async def _push(self, author: str, posts: Sequence[Post]) -> None:
        """Push to all followers, then take back from whoever unfollowed meanwhile.

        Whoever unfollows before this looks is found here; whoever does so later hides the posts, pushed by
        then, as part of unfollowing. It looks back to when the first one was made, not to when this run
        began: an earlier run may have died between pushing and looking.
        """
        entries = [Entry(post.created_ms, post.id) for post in posts]
        async for page in self._stores.graph.follower_pages(author):
            for entry in entries:
                await self._stores.feeds.push(entry, page)
        gone = await self._stores.graph.unfollowed_since(author, min(entries).ms - CLOCK_MARGIN_MS)
        if gone:
            await self._stores.feeds.hide(gone, [entry.id for entry in entries])
            back = await self._relating.still_following(author, gone)
            for entry in entries:
                await self._stores.feeds.push(entry, back)
