"""A small social world in which every invariant holds, and ways to break one thing in it."""

from collections import Counter
from dataclasses import dataclass, field

from results.audit import Evidence
from results.audit.state import (
    ApiCount,
    CommentRow,
    FeedItem,
    FeedWalk,
    FinalState,
    FollowRow,
    LikeRow,
    LikeShards,
    PostRow,
    UserRow,
)
from results.history import LedgerEntry, OutcomeName, WriteKind

BEGAN_MS = 1_000_000


@dataclass
class World:
    """Alice and Carol follow Bob, who posted twice. Alice likes and comments; Carol takes a like back, and
    has unfollowed Dave."""

    ledger: list[LedgerEntry] = field(default_factory=list)
    users: list[UserRow] = field(default_factory=list)
    follows: list[FollowRow] = field(default_factory=list)
    posts: list[PostRow] = field(default_factory=list)
    likes: list[LikeRow] = field(default_factory=list)
    comments: list[CommentRow] = field(default_factory=list)
    shards: list[LikeShards] = field(default_factory=list)
    feeds: list[FeedWalk] = field(default_factory=list)
    api_counts: list[ApiCount] = field(default_factory=list)
    wrong_feeds: Counter[str] = field(default_factory=Counter)

    def evidence(self) -> Evidence:
        state = FinalState(
            users=self.users,
            follows=self.follows,
            posts=self.posts,
            likes=self.likes,
            comments=self.comments,
            shards=self.shards,
            feeds=self.feeds,
            api_counts=self.api_counts,
        )
        return Evidence(self.ledger, state, BEGAN_MS, self.wrong_feeds)

    def wrote(
        self, kind: WriteKind, actor: str, target: str, t: float, outcome: OutcomeName = "ok", id: str = ""
    ) -> None:
        self.ledger.append(LedgerEntry(t, t + 0.01, kind, outcome, actor, target, f"key-{t}", id))


def sound_world() -> World:
    world = World()
    world.wrote("follow", "carol", "dave", 1)
    world.wrote("post", "dave", "dave", 2, id="p0")
    world.wrote("unfollow", "carol", "dave", 3)
    world.wrote("post", "bob", "bob", 4, id="p1")
    world.wrote("post", "bob", "bob", 5, id="p2")
    world.wrote("post", "bob", "bob", 6, "unknown")
    world.wrote("post", "bob", "bob", 6.5, "failed")
    world.wrote("like", "alice", "p1", 7)
    world.wrote("like", "carol", "p1", 7.1)
    world.wrote("unlike", "carol", "p1", 7.2)
    world.wrote("comment", "alice", "p1", 8, id="c1")
    world.follows = [
        FollowRow("alice", "bob", active=True, changed_ms=BEGAN_MS - 5000),
        FollowRow("carol", "bob", active=True, changed_ms=BEGAN_MS - 5000),
        FollowRow("carol", "dave", active=False, changed_ms=BEGAN_MS + 3000),
    ]
    world.users = [
        UserRow("alice", 0, 1),
        UserRow("bob", 2, 0),
        UserRow("carol", 0, 1),
        UserRow("dave", 0, 0),
    ]
    world.posts = [
        PostRow("old", "bob", BEGAN_MS - 9000),
        PostRow("p0", "dave", BEGAN_MS + 2000),
        PostRow("p1", "bob", BEGAN_MS + 4000, likes=1, comments=1),
        PostRow("p2", "bob", BEGAN_MS + 5000),
        PostRow("p3", "bob", BEGAN_MS + 6000),
    ]
    world.likes = [LikeRow("p1", "alice", active=True), LikeRow("p1", "carol", active=False)]
    world.comments = [CommentRow("c1", "p1", "alice", BEGAN_MS + 8000)]
    world.shards = [LikeShards("p1", 1)]
    world.feeds = [walk("alice", "p3", "p2", "p1", "old"), walk("carol", "p3", "p2", "p1", "old")]
    world.api_counts = [ApiCount("likes", "p1", 1), ApiCount("followers", "bob", 2)]
    return world


_TIMES = {"p3": 6000, "p2": 5000, "p1": 4000, "p0": 2000, "old": -9000}


def walk(user: str, *posts: str, owner: str = "") -> FeedWalk:
    """A feed of one page with these posts, newest first."""
    items = [FeedItem(post, "dave" if post == "p0" else "bob", BEGAN_MS + _TIMES[post]) for post in posts]
    return FeedWalk(user, [owner or user], items)
