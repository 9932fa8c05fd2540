"""The whole app against a model: whatever is done in whatever order, with stores coming and going, once
everything that is owed has been paid each feed is right and each counter exact."""

import asyncio
import contextlib
import itertools
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reference_app.domain.likes import LikeEvent
from reference_app.errors import ShedError, StoreError
from tests.unit.reference_app.world import World

USERS = [f"user{number}" for number in range(5)]
users = st.integers(0, len(USERS) - 1)
outages = st.sampled_from(["mongo", "redis", "kafka"])


class Feedstorm(RuleBasedStateMachine):
    """One world; each rule is something that somebody does, or that happens."""

    @initialize(strategy=st.sampled_from(["hybrid", "push", "pull"]))
    def begin(self, strategy: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.world = World(itertools.count(10**12, 10_000).__next__, strategy=strategy)
        self.ids: list[str] = self.run(self.world.join(*USERS))
        self.posts: list[str] = []
        self.sent: list[LikeEvent] = []

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.run(self.world.settle())
            self.run(self.world.check(self.ids))
            self.loop.close()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def attempt(self, work: Any) -> None:
        """Do it, or be refused because of a store that is gone."""
        with contextlib.suppress(StoreError, ShedError):
            self.run(work)

    @rule(who=users, whom=users)
    def follow(self, who: int, whom: int) -> None:
        if who != whom:
            self.attempt(self.world.follow(self.ids[who], self.ids[whom]))

    @rule(who=users, whom=users)
    def unfollow(self, who: int, whom: int) -> None:
        if who != whom:
            self.attempt(self.world.unfollow(self.ids[who], self.ids[whom]))

    @rule(whom=users)
    def everybody_follows(self, whom: int) -> None:
        for who in self.ids:
            if who != self.ids[whom]:
                self.attempt(self.world.follow(who, self.ids[whom]))

    @rule(whom=users)
    def everybody_unfollows(self, whom: int) -> None:
        for who in self.ids:
            if who != self.ids[whom]:
                self.attempt(self.world.unfollow(who, self.ids[whom]))

    @rule(author=users, key=st.none() | st.integers(0, 3).map(str))
    def post(self, author: int, key: str | None) -> None:
        before = len(self.world.stores.truth.posts)
        self.attempt(self.world.post(self.ids[author], "text", key))
        if len(self.world.stores.truth.posts) > before:
            self.posts = list(self.world.stores.truth.posts)

    @rule(who=users, liked=st.booleans(), data=st.data())
    def like(self, who: int, liked: bool, data: st.DataObject) -> None:
        if self.posts:
            post = data.draw(st.sampled_from(self.posts))
            self.attempt(self.world.app.liking.wish(post, self.ids[who], liked=liked))
            self.sent += self.world.stores.queue.likes[-1:]

    @rule(data=st.data())
    def old_likes_come_again(self, data: st.DataObject) -> None:
        if self.sent:
            again = data.draw(st.lists(st.sampled_from(self.sent), max_size=4))
            self.attempt(self.world.app.liking.apply(again))

    @rule(who=users, data=st.data(), key=st.none() | st.integers(0, 2).map(str))
    def comment(self, who: int, data: st.DataObject, key: str | None) -> None:
        if self.posts:
            post = data.draw(st.sampled_from(self.posts))
            self.attempt(self.world.app.commenting.add(post, self.ids[who], "text", key=key))

    @rule(who=users)
    def read(self, who: int) -> None:
        self.attempt(self.world.feed(self.ids[who]))

    @rule(data=st.data())
    def fan_out_somewhere(self, data: st.DataObject) -> None:
        queue = self.world.stores.queue.posts
        if queue:
            post = data.draw(st.sampled_from(queue))
            self.attempt(self.world.app.fan_out.deliver_announced([post]))
            if data.draw(st.booleans()):
                queue.remove(post)

    @rule()
    def take_likes(self) -> None:
        self.attempt(self.world.take_likes())

    @rule()
    def sweep(self) -> None:
        self.run(self.world.upkeep.sweep())

    @rule()
    def flush_the_cache(self) -> None:
        self.world.stores.cache.flush()

    @rule(store=outages)
    def lose(self, store: str) -> None:
        self.world.gone.add(store)

    @rule(store=outages)
    def regain(self, store: str) -> None:
        self.world.gone.discard(store)

    @rule()
    def lose_the_queue_of_posts(self) -> None:
        self.world.stores.queue.posts.clear()

    @rule()
    def rest(self) -> None:
        self.run(self.world.settle())
        self.run(self.world.check(self.ids))

    @invariant()
    def counters_are_never_negative(self) -> None:
        if hasattr(self, "world"):
            truth = self.world.stores.truth
            assert all(shard.count >= 0 for shard in truth.shards.values())
            assert all(post.like_count >= 0 for post in truth.posts.values())
            assert all(user.follower_count >= 0 for user in truth.users.values())


TestFeedstorm = Feedstorm.TestCase
TestFeedstorm.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
