"""Posts, likes, comments, media and signs of life in memory."""

from collections.abc import Iterable, Sequence, Sized

import msgspec

from reference_app.domain import likes as rules
from reference_app.domain.cursors import Position
from reference_app.domain.feed import Entry
from reference_app.domain.likes import LikeEvent, LikeShard
from reference_app.domain.model import Comment, Media, MediaStatus, Post
from reference_app.stores.memory.truth import Truth


class MemoryPosts:
    """Implements `PostStore`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    async def add(self, post: Post, *, due_ms: int | None = None) -> Post:
        self._truth.check()
        if post.id not in self._truth.posts:
            self._truth.posts[post.id] = post
            self._truth.fan_out_owed[post.id] = post.created_ms if due_ms is None else due_ms
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

    async def fan_out_owed(self, *, now_ms: int, limit: int) -> list[Post]:
        self._truth.check()
        due = sorted((due_ms, post) for post, due_ms in self._truth.fan_out_owed.items() if due_ms <= now_ms)
        return [self._truth.posts[post] for _, post in due[:limit]]

    async def fan_out_owing(self, post_ids: Sequence[str]) -> set[str]:
        self._truth.check()
        return self._truth.fan_out_owed.keys() & set(post_ids)

    async def fan_out_paid(self, post_ids: Sequence[str]) -> None:
        self._truth.check()
        for post_id in post_ids:
            self._truth.fan_out_owed.pop(post_id, None)

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
        others: tuple[Sized, ...] = (
            truth.fan_out_owed,
            truth.shards_owed,
            truth.comments_owed,
            truth.bodies_owed,
        )
        return follows + sum(map(len, others))


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
