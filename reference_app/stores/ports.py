"""What the app asks of its stores. MongoDB, Redis, Kafka and the in-memory fakes implement these.

MongoDB is the truth, Redis a cache of it that may vanish at any instant, Kafka the quick way to the workers.
Whatever has to happen after a write and could be cut off by a crash is *owed*: a mark that is part of
the write itself. Who does the thing clears the mark afterwards, and only if the thing has not moved on
meanwhile; doing it twice changes nothing. A mark that stays is found by the sweeper.

Every method raises `StoreRefusedError` (nothing was done) or `StoreUncertainError` (it may have been
done) when its store cannot be used, within a bounded time.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from reference_app.domain.celebrity import Threshold
from reference_app.domain.cursors import Position
from reference_app.domain.feed import Entry
from reference_app.domain.likes import LikeEvent, LikeShard
from reference_app.domain.model import Comment, Edge, Media, Post, Relation, User


class Side(StrEnum):
    """Which end of a relationship a page lists."""

    FOLLOWERS = "followers"
    FOLLOWING = "following"


class Order(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"


class GraphStore(Protocol):
    """Users and who follows whom."""

    def primary(self) -> str | None:
        """Who takes writes now, as far as is known. While it is None, answers may be old ones."""

    async def add_user(self, user: User) -> User:
        """Returns the user of this id that is there afterwards: the first one wins."""

    async def users(self, ids: Sequence[str]) -> list[User]:
        """Those of them that exist, in the order asked for."""

    async def set_following(
        self, follower: str, followee: str, *, active: bool, now_ms: int
    ) -> Relation | None:
        """Begin or end a relationship; None if that was its state already.

        A change owes two things: the follower's feed, and the counts of both.
        """

    async def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """Those of the (follower, followee) pairs that ever were."""

    async def edges(
        self, user: str, side: Side, *, after: Position | None, order: Order, limit: int
    ) -> list[Edge]:
        """A page of somebody's active relationships, by (since, id) in the given order."""

    def follower_pages(self, author: str) -> AsyncIterator[list[str]]:
        """The ids of all active followers, page by page, from the primary."""

    async def unfollowed_since(self, author: str, since_ms: int) -> list[str]:
        """Who stopped following `author` at or after `since_ms`, from the primary."""

    async def followees(self, user: str, *, limit: int) -> list[str]:
        """The newest followings of `user`."""

    async def pulled_among(self, ids: Sequence[str]) -> list[str]:
        """Those authors whose posts readers have to merge."""

    async def feed_owed(self, *, before_ms: int, limit: int) -> list[Relation]:
        """Relationships that changed before `before_ms` and that the follower's feed may not show yet."""

    async def feed_paid(self, relation: Relation) -> bool:
        """Clear that mark; False if the relationship has changed again meanwhile."""

    async def settle_counts(self, *, before_ms: int, limit: int) -> int:
        """Count up to `limit` relationships that changed before `before_ms`, in one step with clearing
        their marks; how many."""

    async def miscast(self, threshold: Threshold, *, limit: int) -> list[User]:
        """Users on the wrong side of the celebrity threshold."""

    async def set_pulled(self, author: str) -> None: ...

    async def set_celebrity(self, author: str, *, is_celebrity: bool) -> None: ...


class PostStore(Protocol):
    async def add(self, post: Post, *, due_ms: int | None = None) -> Post:
        """Store a post that owes its fan-out: from `due_ms` on (by default, since it was made) whoever looks
        for such finds it. Returns the post of this id: the first one wins."""

    async def get(self, ids: Sequence[str]) -> list[Post]:
        """Those of them that exist, in the order asked for."""

    async def newest(self, authors: Sequence[str], *, after: Entry | None, limit: int) -> list[Post]:
        """A feed page straight from the truth: newest first, older than `after`. May lag (secondaries)."""

    async def entries(self, authors: Sequence[str], *, limit: int) -> list[Entry]:
        """These authors' newest posts as feed entries, newest first; from the primary if there is one."""

    async def fan_out_owed(self, *, now_ms: int, limit: int) -> list[Post]:
        """Posts whose fan-out is due and not done, what was due first first."""

    async def fan_out_owing(self, post_ids: Sequence[str]) -> set[str]:
        """Those of them that are not fanned out."""

    async def fan_out_paid(self, post_ids: Sequence[str]) -> None: ...

    async def body_owed(self, *, limit: int) -> list[Post]:
        """Posts that have changed and that the cache may show as they were."""

    async def body_paid(self, posts: Sequence[Post]) -> None:
        """Clear that mark of those that are still at these versions."""

    async def owed(self) -> int:
        """How many marks of any kind are left, in all collections."""


class LikeStore(Protocol):
    async def apply(self, events: Iterable[LikeEvent]) -> list[LikeShard]:
        """Apply a batch as `domain.likes` says: rows and shards in one step. Returns the shards that changed.

        Events for posts that do not exist change nothing.
        """

    async def shards(self, post_id: str) -> list[LikeShard]: ...

    async def owed(self, *, limit: int) -> list[str]:
        """Posts with shards that have changed since they were last copied to where readers look."""

    async def write_back(self, post_id: str) -> tuple[Post, list[LikeShard]] | None:
        """Bring the post's count and recent likers up to its shards, in one step; None if it has none.

        The shards still owe the caches: `paid` clears that.
        """

    async def paid(self, shards: Sequence[LikeShard]) -> None:
        """Clear the marks of shards that are still at these versions."""


class CommentStore(Protocol):
    async def add(self, comment: Comment) -> Comment:
        """Store a comment that owes its post a count. The first one of this id wins."""

    async def page(self, post_id: str, *, after: Position | None, limit: int) -> list[Comment]: ...

    async def settle_counts(self, *, limit: int) -> int:
        """Count up to `limit` new comments, in one step with clearing their marks; how many.

        The posts then owe the cache their new bodies.
        """


class MediaStore(Protocol):
    async def add(self, media: Media) -> Media: ...

    async def get(self, media_id: str) -> Media | None: ...

    async def pending(self, *, limit: int) -> list[str]: ...

    async def set_ready(self, ids: Sequence[str]) -> None: ...


class Heartbeats(Protocol):
    async def beat(self, name: str, now_ms: int) -> None:
        """Give a sign of life."""

    async def last(self, name: str) -> int | None:
        """The last sign of life, as it was given; None if there never was one."""


class FeedSlice(NamedTuple):
    """What Redis knows of a feed: its entries older than the position asked for, newest first, and the
    authors to merge; `pulled` is None while the feed has not been built (cold)."""

    entries: list[Entry]
    pulled: list[str] | None


class FeedCache(Protocol):
    """Feeds, and the newest posts of celebrities.

    Adding an entry or an author is always allowed, built or not, and commutes with everything; so a build
    that merges what it read can miss nothing that was added while it read. Whether a feed has been built is
    a mark of its own.
    """

    async def began_ms(self) -> int:
        """When it was last empty, by the clock of whoever emptied it; 0 if that is not known. Raises
        StoreError if nothing can be written now."""

    async def read(self, user: str, *, after: Entry | None, limit: int) -> FeedSlice:
        """At least `limit` entries, if there are that many."""

    async def epoch(self) -> str:
        """Changes whenever the cache has lost its content."""

    async def revision(self, user: str) -> str:
        """Another one after every loss of content and after everything that was taken out of this feed."""

    async def build(
        self, user: str, entries: Sequence[Entry], pulled: Sequence[str], *, revision: str
    ) -> bool:
        """Merge what was read and mark the feed as built; False if `revision`, asked before anything was
        read, is not the present one: something that was read may have been taken out since."""

    async def begin_build(self, user: str) -> bool:
        """Claim the building of a feed for a moment; False if somebody else has claimed it."""

    async def push(self, entry: Entry, users: Sequence[str]) -> None:
        """Add one post to many feeds."""

    async def add(self, user: str, entries: Sequence[Entry]) -> None: ...

    async def hide(self, users: Sequence[str], post_ids: Sequence[str]) -> None:
        """Take these posts out of these feeds."""

    async def pull(self, author: str, users: Sequence[str]) -> None:
        """From now on these users' reads merge the author's posts."""

    async def unpull(self, author: str, users: Sequence[str]) -> None: ...

    async def celebrity_posts(self, author: str) -> list[Entry] | None:
        """The newest posts of a pulled author; None if they have not been loaded."""

    async def publish(self, author: str, entry: Entry) -> None:
        """Add a post to every copy of a pulled author's newest posts."""

    async def load_celebrity(self, author: str, entries: Sequence[Entry], *, epoch: str) -> bool: ...


class PostCache(Protocol):
    """Posts and first comment pages, ready to be sent."""

    async def get(self, ids: Sequence[str]) -> list[bytes | None]: ...

    async def put(self, posts: Sequence[tuple[str, int, bytes]]) -> None:
        """(id, rev, body) each; what is held at a higher `rev` stays."""

    async def comments(self, post_id: str) -> bytes | None: ...

    async def put_comments(self, post_id: str, body: bytes) -> None: ...

    async def drop_comments(self, post_id: str) -> None: ...


class CounterCache(Protocol):
    """The sharded like counters."""

    async def like_count(self, post_id: str) -> int | None:
        """The sum of all shards; None if the post's counter has not been loaded."""

    async def put(self, shards: Sequence[LikeShard]) -> list[str]:
        """Put each shard unless a newer version is there. Returns the posts that are not loaded."""

    async def load(self, post_id: str, shards: Sequence[LikeShard]) -> None:
        """Put all shards of a post, and mark it as loaded."""


class EventSink(Protocol):
    """The way to the workers."""

    @property
    def is_usable(self) -> bool:
        """Whether what is sent now has a chance to arrive."""

    async def send_like(self, event: LikeEvent) -> None:
        """Returns once every in-sync replica has it."""

    def announce_post(self, post: Post) -> None:
        """Tell the fan-out workers of a post that is stored, without waiting: one that nobody hears of is
        found by its mark."""
