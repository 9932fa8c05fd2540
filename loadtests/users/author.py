"""Posts, looks at its post, asks for a place to put a picture."""

from typing import Any

from locust import task

from loadtests.users.base import FeedUser


class Author(FeedUser):
    """Mostly normal authors, now and then a celebrity."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._last: tuple[str, str] | None = None

    @task(14)
    def publish(self) -> None:
        author = self.population.user_id(self.population.any_user(self.rng))
        post = self.api.publish(author, "Nothing much, and you?", ("daily",))
        if post is not None:
            self.workload.posts.add(post)
            self._last = (author, post)

    @task(1)
    def publish_to_everybody(self) -> None:
        self.publish_as_celebrity()

    @task(3)
    def look_at_own_post(self) -> None:
        if self._last is None:
            self.publish()
            return
        author, post = self._last
        self.api.post(author, post, author)

    @task(2)
    def ask_for_upload(self) -> None:
        self.api.upload(self.population.user_id(self.population.any_user(self.rng)))
