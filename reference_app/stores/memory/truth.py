"""What a database would hold, in memory."""

from dataclasses import dataclass, field

from reference_app.domain.likes import LikeRow, LikeShard, RowKey, ShardKey
from reference_app.domain.model import Comment, Media, Post, Relation, User
from reference_app.stores.memory.outage import Outages

Pair = tuple[str, str]


@dataclass
class Follow:
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
    follows: dict[Pair, Follow] = field(default_factory=dict)
    posts: dict[str, Post] = field(default_factory=dict)
    fan_out_owed: dict[str, int] = field(default_factory=dict)
    """By post, from when on."""
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
