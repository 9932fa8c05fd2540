"""Users, relationships, posts, likes, comments and media in memory."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from reference_app.domain import likes as rules
from reference_app.domain.celebrity import Threshold
from reference_app.domain.cursors import Position
from reference_app.domain.feed import Entry
from reference_app.domain.likes import LikeEvent, LikeRow, LikeShard, RowKey, ShardKey
from reference_app.domain.model import Comment, Edge, Media, MediaStatus, Post, Relation, User
from reference_app.stores.memory.outage import Outages
from reference_app.stores.ports import Order, Side

Pair = tuple[str, str]


@dataclass
class _Follow:
    relation: Relation
    since_ms: int
    updated_ms: int
    counted: bool = False
    feed_owed: bool = True
    count_owed: bool = True


@dataclass
class Truth:
    """What a database would hold."""

    outages: Outages = field(default_factory=Outages)
    users: dict[str, User] = field(default_factory=dict)
    follows: dict[Pair, _Follow] = field(default_factory=dict)
    posts: dict[str, Post] = field(default_factory=dict)
    fan_out_owed: set[str] = field(default_factory=set)
    rows: dict[RowKey, LikeRow] = field(default_factory=dict)
    shards: dict[ShardKey, LikeShard] = field(default_factory=dict)
    shards_owed: set[ShardKey] = field(default_factory=set)
    comments: dict[str, Comment] = field(default_factory=dict)
    comments_owed: set[str] = field(default_factory=set)
    bodies_owed: set[str] = field(default_factory=set)
    media: dict[str, Media] = field(default_factory=dict)
    beats: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        self.outages.check("mongo")


class MemoryGraph:
    """Implements `GraphStore`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

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
        self._truth.follows[follower, followee] = _Follow(relation, since_ms, now_ms, counted)
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


class MemoryPosts:
    """Implements `PostStore`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    async def add(self, post: Post) -> Post:
        self._truth.check()
        if post.id not in self._truth.posts:
            self._truth.posts[post.id] = post
            self._truth.fan_out_owed.add(post.id)
        return self._truth.posts[post.id]

    async def get(self, ids: Sequence[str]) -> list[Post]:
        self._truth.check()
        return [self._truth.posts[one] for one in dict.fromkeys(ids) if one in self._truth.posts]

    async def newest(self, authors: Sequence[str], *, after: Entry | None, limit: int) -> list[Post]:
        self._truth.check()
        wanted = set(authors)
        found = [
            post
            for post in self._truth.posts.values()
            if post.author_id in wanted and (after is None or (post.created_ms, post.id) < after)
        ]
        return sorted(found, key=lambda post: (post.created_ms, post.id), reverse=True)[:limit]

    async def entries(self, authors: Sequence[str], *, limit: int) -> list[Entry]:
        return [
            Entry(post.created_ms, post.id) for post in await self.newest(authors, after=None, limit=limit)
        ]

    async def fan_out_owed(self, *, before_ms: int, limit: int) -> list[Post]:
        self._truth.check()
        owed = (self._truth.posts[post_id] for post_id in self._truth.fan_out_owed)
        due = sorted((post for post in owed if post.created_ms < before_ms), key=lambda post: post.created_ms)
        return due[:limit]

    async def fan_out_paid(self, post_ids: Sequence[str]) -> None:
        self._truth.check()
        self._truth.fan_out_owed.difference_update(post_ids)

    async def body_owed(self, *, limit: int) -> list[Post]:
        return await self.get(list(self._truth.bodies_owed)[:limit])

    async def body_paid(self, posts: Sequence[Post]) -> None:
        self._truth.check()
        for post in posts:
            if self._truth.posts[post.id].rev == post.rev:
                self._truth.bodies_owed.discard(post.id)

    async def owed(self) -> int:
        self._truth.check()
        follows = sum(follow.feed_owed + follow.count_owed for follow in self._truth.follows.values())
        truth = self._truth
        others = (truth.fan_out_owed, truth.shards_owed, truth.comments_owed, truth.bodies_owed)
        return follows + sum(len(some) for some in others)


class MemoryLikes:
    """Implements `LikeStore`."""

    def __init__(self, truth: Truth, *, shard_count: int) -> None:
        self._truth, self._shard_count = truth, shard_count

    async def apply(self, events: Iterable[LikeEvent]) -> list[LikeShard]:
        self._truth.check()
        newest = rules.newest_of(event for event in events if event.post_id in self._truth.posts)
        rows, shards = rules.apply(
            newest, self._truth.rows, self._truth.shards, shard_count=self._shard_count
        )
        self._truth.rows.update({(row.post_id, row.user_id): row for row in rows})
        for shard in shards:
            self._truth.shards[shard.post_id, shard.shard] = shard
            self._truth.shards_owed.add((shard.post_id, shard.shard))
        return shards

    async def shards(self, post_id: str) -> list[LikeShard]:
        self._truth.check()
        return [shard for (post, _), shard in self._truth.shards.items() if post == post_id]

    async def owed(self, *, limit: int) -> list[str]:
        self._truth.check()
        return list(dict.fromkeys(post for post, _ in self._truth.shards_owed))[:limit]

    async def write_back(self, post_id: str) -> tuple[Post, list[LikeShard]] | None:
        shards = await self.shards(post_id)
        post = self._truth.posts.get(post_id)
        if post is None:
            return None
        count = sum(shard.count for shard in shards)
        likers = rules.newest_likers(liker for shard in shards for liker in shard.recent)
        recent = tuple(liker.user_id for liker in likers)
        if (post.like_count, post.recent_likers) != (count, recent):
            post = msgspec.structs.replace(post, like_count=count, recent_likers=recent, rev=post.rev + 1)
            self._truth.posts[post_id] = post
        return post, shards

    async def paid(self, shards: Sequence[LikeShard]) -> None:
        self._truth.check()
        for shard in shards:
            key = (shard.post_id, shard.shard)
            if self._truth.shards[key].version == shard.version:
                self._truth.shards_owed.discard(key)


class MemoryComments:
    """Implements `CommentStore`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    async def add(self, comment: Comment) -> Comment:
        self._truth.check()
        if comment.id not in self._truth.comments:
            self._truth.comments[comment.id] = comment
            self._truth.comments_owed.add(comment.id)
        return self._truth.comments[comment.id]

    async def page(self, post_id: str, *, after: Position | None, limit: int) -> list[Comment]:
        self._truth.check()
        found = [
            comment
            for comment in self._truth.comments.values()
            if comment.post_id == post_id
            and (after is None or (comment.created_ms, comment.id) < (after.ms, after.id))
        ]
        return sorted(found, key=lambda comment: (comment.created_ms, comment.id), reverse=True)[:limit]

    async def settle_counts(self, *, limit: int) -> int:
        self._truth.check()
        settled = list(self._truth.comments_owed)[:limit]
        for comment_id in settled:
            self._truth.comments_owed.discard(comment_id)
            post = self._truth.posts[self._truth.comments[comment_id].post_id]
            post = msgspec.structs.replace(post, comment_count=post.comment_count + 1, rev=post.rev + 1)
            self._truth.posts[post.id] = post
            self._truth.bodies_owed.add(post.id)
        return len(settled)


class MemoryMedia:
    """Implements `MediaStore`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    async def add(self, media: Media) -> Media:
        self._truth.check()
        return self._truth.media.setdefault(media.id, media)

    async def get(self, media_id: str) -> Media | None:
        self._truth.check()
        return self._truth.media.get(media_id)

    async def pending(self, *, limit: int) -> list[str]:
        self._truth.check()
        waiting = (media for media in self._truth.media.values() if media.status is MediaStatus.PENDING)
        return [media.id for media in waiting][:limit]

    async def set_ready(self, ids: Sequence[str]) -> None:
        self._truth.check()
        for one in ids:
            self._truth.media[one] = msgspec.structs.replace(self._truth.media[one], status=MediaStatus.READY)


class MemoryHeartbeats:
    """Implements `Heartbeats`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    async def beat(self, name: str, now_ms: int) -> None:
        self._truth.check()
        self._truth.beats[name] = now_ms

    async def last(self, name: str) -> int | None:
        self._truth.check()
        return self._truth.beats.get(name)
