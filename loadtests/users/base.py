"""What all users of the feed have: the API, the population, and a source of choices."""

from typing import Any

from locust import between

from loadtests.api import FeedApi
from loadtests.http.user import RawHttpUser
from loadtests.workload import workload_of


class FeedUser(RawHttpUser):
    """Each task acts as some member of the population; `wait_time` matters in the closed loop only."""

    abstract = True
    wait_time = between(0.5, 1.5)

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.workload = workload_of(environment)
        self.population, self.rng = self.workload.population, self.workload.rng
        self.api = FeedApi(self.client, self.workload.ledger)

    def publish_as_celebrity(self) -> str | None:
        """A celebrity posts (somebody else, in a population without any): what everybody will look at."""
        celebrity = self.workload.celebrity()
        author = self.population.any_user(self.rng) if celebrity is None else celebrity
        post = self.api.publish(self.population.user_id(author), "Something big has happened", ("big",))
        if post is not None:
            self.workload.posts.add(post, viral=True)
            if celebrity is not None:
                self.workload.celebrity_posted(celebrity)
        return post
