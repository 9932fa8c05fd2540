"""Following and unfollowing: what a changed relationship does to the follower's feed, in whatever order
things happen."""

import contextlib
import logging
from collections.abc import Sequence

from reference_app.clock import now_ms
from reference_app.domain.feed import Entry
from reference_app.domain.model import Relation, User
from reference_app.errors import ConflictError, StoreError
from reference_app.service.people import People
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores

log = logging.getLogger(__name__)


class Relating:
    def __init__(self, stores: Stores, settings: Settings, people: People) -> None:
        self._stores, self._settings, self._people = stores, settings, people

    async def set_following(self, follower: str, followee: str, *, active: bool) -> bool:
        """True if that changed anything. The feed follows at once if it can, else by the sweeper."""
        if active:
            if follower == followee:
                raise ConflictError("Nobody can follow themselves.", field="other")
            await self._people.must_exist([("id", follower), ("other", followee)])
        relation = await self._stores.graph.set_following(follower, followee, active=active, now_ms=now_ms())
        if relation is None:
            return False
        with contextlib.suppress(StoreError):
            await self.bring_up(relation)
        return True

    async def feeds_began_ms(self) -> int:
        """When the cache was last empty. Raises StoreError if feeds cannot be written now: whoever has many
        to bring up asks before asking Mongo, which answers all reads then."""
        return 0 if self._settings.strategy == "pull" else await self._stores.feeds.began_ms()

    async def bring_up(self, relation: Relation) -> None:
        """Make the follower's feed show what the relationship says.

        The relationship may change while this runs, here or elsewhere. So: act, then clear the mark for
        exactly the state that was acted on. If it has moved on, act again: whoever acts last has acted on
        the last state.
        """
        for _ in range(10):
            if relation.active:
                await self._backfill(relation)
            else:
                await self._hide(relation)
            if await self._stores.graph.feed_paid(relation):
                return
            (relation,) = await self._stores.graph.relations([(relation.follower_id, relation.followee_id)])
        log.warning("a relationship changes faster than its feed; the sweeper goes on with it")

    async def _backfill(self, relation: Relation) -> None:
        followees = await self._stores.graph.users([relation.followee_id])
        if not followees or self._settings.strategy == "pull":
            return
        if self._settings.strategy == "hybrid" and followees[0].pulled:
            await self._stores.feeds.pull(relation.followee_id, [relation.follower_id])
            return
        await self._stores.feeds.add(relation.follower_id, await self._newest(relation.followee_id))

    async def _hide(self, relation: Relation) -> None:
        if self._settings.strategy == "pull":
            return
        posts = await self._newest(relation.followee_id)
        await self._stores.feeds.hide([relation.follower_id], [entry.id for entry in posts])
        await self._stores.feeds.unpull(relation.followee_id, [relation.follower_id])

    async def _newest(self, author: str) -> list[Entry]:
        """Twice what a feed keeps: it is trimmed now and then, not at once."""
        return await self._stores.posts.entries([author], limit=self._settings.feed_size * 2)

    # -- celebrities -----------------------------------------------------------------------

    async def recast(self, user: User) -> None:
        """Move somebody to the other side of the celebrity threshold."""
        if user.is_celebrity:
            await self._stores.graph.set_celebrity(user.id, is_celebrity=False)
        else:
            await self._promote(user.id)
        self._people.forget(user.id)

    async def _promote(self, author: str) -> None:
        """Posts go on being pushed until every follower's reads merge the author; only then does that end.

        Whoever builds a feed or follows from here on finds `pulled` set and merges by that; whoever followed
        before is in the pages. So at no instant is a post neither pushed nor merged.
        """
        begun_ms = now_ms()
        await self._stores.graph.set_pulled(author)
        async for page in self._stores.graph.follower_pages(author):
            await self._stores.feeds.pull(author, page)
        gone = await self._stores.graph.unfollowed_since(author, begun_ms)
        if gone:
            await self._stores.feeds.unpull(author, gone)
            await self._stores.feeds.pull(author, await self.still_following(author, gone))
        await self._stores.graph.set_celebrity(author, is_celebrity=True)

    async def still_following(self, author: str, users: Sequence[str]) -> list[str]:
        relations = await self._stores.graph.relations([(user, author) for user in users])
        return [relation.follower_id for relation in relations if relation.active]
