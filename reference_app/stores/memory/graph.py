"""Users and relationships in memory."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from reference_app.domain.celebrity import Threshold
from reference_app.domain.cursors import Position
from reference_app.domain.model import Edge, Relation, User
from reference_app.stores.memory.truth import Follow, Pair, Truth
from reference_app.stores.ports import Order, Side


class MemoryGraph:
    """Implements `GraphStore`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    def primary(self) -> str | None:
        return None if self._truth.outages.gone & {"mongo", "primary"} else "memory"

    async def add_user(self, user: User) -> User:
        self._truth.check()
        return self._truth.users.setdefault(user.id, user)

    async def users(self, ids: Sequence[str]) -> list[User]:
        self._truth.check()
        return [self._truth.users[one] for one in dict.fromkeys(ids) if one in self._truth.users]

    async def set_following(
        self, follower: str, followee: str, *, active: bool, now_ms: int
    ) -> Relation | None:
        self._truth.check()
        known = self._truth.follows.get((follower, followee))
        if active == (known is not None and known.relation.active):
            return None
        rev = known.relation.rev + 1 if known else 1
        since_ms = now_ms if active or known is None else known.since_ms
        counted = known is not None and known.counted
        relation = Relation(follower, followee, active, rev)
        self._truth.follows[follower, followee] = Follow(relation, since_ms, now_ms, counted)
        return relation

    async def relations(self, pairs: Sequence[Pair]) -> list[Relation]:
        self._truth.check()
        return [self._truth.follows[pair].relation for pair in pairs if pair in self._truth.follows]

    async def edges(
        self, user: str, side: Side, *, after: Position | None, order: Order, limit: int
    ) -> list[Edge]:
        self._truth.check()
        mine, other = (1, 0) if side is Side.FOLLOWERS else (0, 1)
        keys = sorted(
            (
                (follow.since_ms, pair[other])
                for pair, follow in self._truth.follows.items()
                if pair[mine] == user and follow.relation.active
            ),
            reverse=order is Order.NEWEST,
        )
        if after is not None:
            limit_key = (after.ms, after.id)
            keys = [key for key in keys if (key < limit_key if order is Order.NEWEST else key > limit_key)]
        return [Edge(other_id, since_ms) for since_ms, other_id in keys[:limit]]

    async def follower_pages(self, author: str) -> AsyncIterator[list[str]]:
        edges = await self.edges(author, Side.FOLLOWERS, after=None, order=Order.OLDEST, limit=10**9)
        for start in range(0, len(edges), 2):
            self._truth.check()
            yield [edge.user_id for edge in edges[start : start + 2]]

    async def unfollowed_since(self, author: str, since_ms: int) -> list[str]:
        self._truth.check()
        return [
            follower
            for (follower, followee), follow in self._truth.follows.items()
            if followee == author and not follow.relation.active and follow.updated_ms >= since_ms
        ]

    async def followees(self, user: str, *, limit: int) -> list[str]:
        edges = await self.edges(user, Side.FOLLOWING, after=None, order=Order.NEWEST, limit=limit)
        return [edge.user_id for edge in edges]

    async def pulled_among(self, ids: Sequence[str]) -> list[str]:
        return [user.id for user in await self.users(ids) if user.pulled]

    async def feed_owed(self, *, before_ms: int, limit: int) -> list[Relation]:
        self._truth.check()
        owed = (one for one in self._truth.follows.values() if one.feed_owed and one.updated_ms < before_ms)
        return [follow.relation for follow in owed][:limit]

    async def feed_paid(self, relation: Relation) -> bool:
        self._truth.check()
        follow = self._truth.follows[relation.follower_id, relation.followee_id]
        if follow.relation.rev != relation.rev:
            return False
        follow.feed_owed = False
        return True

    async def settle_counts(self, *, before_ms: int, limit: int) -> int:
        self._truth.check()
        late = (one for one in self._truth.follows.values() if one.count_owed and one.updated_ms < before_ms)
        owed = list(late)[:limit]
        for follow in owed:
            step = int(follow.relation.active) - int(follow.counted)
            follow.counted, follow.count_owed = follow.relation.active, False
            self._change(follow.relation.followee_id, follower_count=step)
            self._change(follow.relation.follower_id, following_count=step)
        return len(owed)

    def _change(self, user_id: str, *, follower_count: int = 0, following_count: int = 0) -> None:
        user = self._truth.users.get(user_id)
        if user is not None:
            self._truth.users[user_id] = msgspec.structs.replace(
                user,
                follower_count=user.follower_count + follower_count,
                following_count=user.following_count + following_count,
            )

    async def miscast(self, threshold: Threshold, *, limit: int) -> list[User]:
        self._truth.check()
        return [
            user
            for user in self._truth.users.values()
            if threshold.is_celebrity(was=user.is_celebrity, followers=user.follower_count)
            != user.is_celebrity
        ][:limit]

    async def set_pulled(self, author: str) -> None:
        self._truth.check()
        self._truth.users[author] = msgspec.structs.replace(self._truth.users[author], pulled=True)

    async def set_celebrity(self, author: str, *, is_celebrity: bool) -> None:
        self._truth.check()
        user = self._truth.users[author]
        self._truth.users[author] = msgspec.structs.replace(user, is_celebrity=is_celebrity)
