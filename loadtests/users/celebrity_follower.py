"""Runs to a celebrity and away again, and looks at how many others do."""

from locust import task

from loadtests.users.base import FeedUser


class CelebrityFollower(FeedUser):
    """Fans only, so that the followings of all others stay as they were seeded."""

    @task(5)
    def follow(self) -> None:
        self.api.follow(self._fan(), self._celebrity())

    @task(3)
    def unfollow(self) -> None:
        self.api.unfollow(self._fan(), self._celebrity())

    @task(2)
    def look_at_profile(self) -> None:
        self.api.user(self._fan(), self._celebrity())

    @task(2)
    def count_followers(self) -> None:
        self.api.follower_count(self._fan(), self._celebrity())

    @task(1)
    def count_own_followings(self) -> None:
        fan = self._fan()
        self.api.following_count(fan, fan)

    @task(2)
    def page_through_followers(self) -> None:
        self.api.followers(self._fan(), self._celebrity())

    @task(1)
    def page_through_followings(self) -> None:
        fan = self._fan()
        self.api.following(fan, fan)

    @task(1)
    def compare(self) -> None:
        self.api.relationship(self._fan(), self._celebrity())

    def _fan(self) -> str:
        return self.population.user_id(self.population.any_fan(self.rng))

    def _celebrity(self) -> str:
        celebrity = self.workload.celebrity()
        return self.population.user_id(
            self.population.any_reader(self.rng) if celebrity is None else celebrity
        )
