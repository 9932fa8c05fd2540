"""All ports together, as services are given them."""

from dataclasses import dataclass

from reference_app.stores.ports import (
    CommentStore,
    CounterCache,
    EventSink,
    FeedCache,
    GraphStore,
    Heartbeats,
    LikeStore,
    MediaStore,
    PostCache,
    PostStore,
)


@dataclass
class Stores:
    graph: GraphStore
    posts: PostStore
    likes: LikeStore
    comments: CommentStore
    media: MediaStore
    heartbeats: Heartbeats
    feeds: FeedCache
    bodies: PostCache
    counters: CounterCache
    sink: EventSink
