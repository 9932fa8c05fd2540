"""Likes what everybody likes, and joins in below it."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from locust import task

from loadtests.users.base import FeedUser

SHOWS_WITHIN_S: Final = 30.0
"""A like that the count does not show after so long is wrong content; staleness proper is the probes'."""


@dataclass(frozen=True)
class Like:
    user: str
    post: str
    at: float


class ViralLiker(FeedUser):
    """Likes, unlikes, counts and comments, all on Zipf-hot posts."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._likes: deque[Like] = deque(maxlen=50)

    @task(10)
    def like(self) -> None:
        post, user = self._hot_post(), self._somebody()
        if post is not None and self.api.like(user, post):
            self._likes.append(Like(user, post, self.workload.clock.now()))

    @task(2)
    def unlike(self) -> None:
        if not self._likes:
            self.like()
            return
        like = self._likes.popleft()
        self.api.unlike(like.user, like.post)

    @task(4)
    def look_at_count(self) -> None:
        post = self._hot_post()
        if post is not None:
            self.api.like_count(self._somebody(), post)

    @task(2)
    def look_at_post(self) -> None:
        """A post that was liked a while ago shows it."""
        like = self._likes[0] if self._likes else None
        if like is not None and self.workload.clock.now() - like.at > SHOWS_WITHIN_S:
            self.api.post(like.user, like.post, must_be_liked=True)
        elif (post := self._hot_post()) is not None:
            self.api.post(self._somebody(), post)

    @task(3)
    def read_comments(self) -> None:
        post = self._hot_post()
        if post is not None:
            self.api.comments(self._somebody(), post)

    @task(2)
    def comment(self) -> None:
        post = self._hot_post()
        if post is not None:
            self.api.comment(self._somebody(), post, "Wow")

    def _somebody(self) -> str:
        return self.population.user_id(self.population.any_user(self.rng))

    def _hot_post(self) -> str | None:
        """A hot post; while none is known, this op makes one, and there is nothing more to do."""
        post = self.workload.posts.pick(self.rng)
        if post is None:
            self.publish_as_celebrity()
        return post
