"""What is in the topics. Values are JSON, so that a console consumer shows what happens."""

from typing import Final

import msgspec

from reference_app.domain.likes import LikeEvent

LIKES: Final = "feedstorm.likes"
POSTS: Final = "feedstorm.posts"
PROBES: Final = "feedstorm.probes"
TOPICS: Final = (LIKES, POSTS, PROBES)


class PostMade(msgspec.Struct, rename="camel", frozen=True):
    """A post that has to be fanned out."""

    post_id: str
    author_id: str
    created_ms: int
    celebrity: bool
    stored_ms: int
    """It was stored at this instant or before."""


class LikeRecord(msgspec.Struct, rename="camel", frozen=True):
    post_id: str
    user_id: str
    liked: bool
    at: int

    def event(self) -> LikeEvent:
        return LikeEvent(self.post_id, self.user_id, self.liked, self.at)
