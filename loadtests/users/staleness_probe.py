"""The instrument: how long until what was acknowledged is seen by somebody else.

Once a second and path, with many probes in flight and authors spread over all of the population, so
that one lucky author cannot hide that others wait. Its ops are rows of the user `staleness_probe`;
its writes are in the ledger, as everybody's.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import gevent
from locust import constant_pacing, task

from loadtests.probing import Acknowledged, follow_up, undecided
from loadtests.users.base import FeedUser
from results.history import StalenessPath

EVERY_S: Final = 0.9  # a little less than a second, so that no second is without a probe
POSTS_READY: Final = 8  # liked by probes; made ahead, so that probing likes goes on while posting fails
FEED_LIMIT: Final = 50
MOST_LIKES: Final = 100  # of one post: a population has at least ten times as many users, in practice


@dataclass
class ProbePost:
    """A post that only probes like, one at a time and each as another user, from `first_liker` on."""

    id: str
    first_liker: int
    likes: int = 0


@dataclass
class Pair:
    """A spare user who follows and unfollows another one, and nobody else does either."""

    follower: str
    followee: str
    following: bool = False


class StalenessProbe(FeedUser):
    """A fixed few run beside whatever else there is; see `swarm.py`."""

    fixed_count = 1

    def wait_time(self) -> float:
        """Several probers take turns."""
        pause_s: float = constant_pacing(EVERY_S * max(1, type(self).fixed_count))(self)
        return pause_s

    def on_start(self) -> None:
        self._writes: dict[StalenessPath, Callable[[], Acknowledged | None]] = {
            "push": self._post_of_normal_author,
            "celebrity": self._post_of_celebrity,
            "like_count": self._like,
            "follow_count": self._follow,
        }
        self._liked: deque[ProbePost] = deque()
        self._pairs = deque(self._make_pairs())
        self._stopped = False
        if "like_count" in self.workload.settings.probes:
            self.workload.helpers.spawn(self._keep_posts_ready)

    def on_stop(self) -> None:
        self._stopped = True

    @task
    def probe_every_path(self) -> None:
        for path in self.workload.settings.probes:
            self.workload.probes.spawn(self._probe, path)

    def now(self) -> float:
        return self.workload.clock.now()

    def sleep(self, seconds: float) -> None:
        gevent.sleep(seconds)

    def is_over(self) -> bool:
        return self.workload.cut

    def _probe(self, path: StalenessPath) -> None:
        deadline_s, worker = self.workload.settings.probe_deadline_s, self.workload.worker
        write: Acknowledged | None = None
        try:
            write = self._writes[path]()
            if write is None:
                return
            sample = follow_up(path, write, self, deadline_s=deadline_s, worker=worker)
        except gevent.GreenletExit:
            if write is None:
                return
            sample = undecided(path, write, deadline_s=deadline_s, worker=worker)
        except Exception as error:
            self.environment.events.user_error.fire(
                user_instance=self, exception=error, tb=error.__traceback__
            )
            return
        self.workload.staleness.append(sample)
        if sample.outcome != "seen":
            write.unseen()

    # -- the four writes: each returns None if it was not acknowledged --------------------------

    def _post_of_normal_author(self) -> Acknowledged | None:
        for _ in range(20):
            reader = self.population.any_reader(self.rng)
            if followed := self.population.followed_by(reader):
                return self._posted(self.rng.choice(followed), reader)
        return None

    def _post_of_celebrity(self) -> Acknowledged | None:
        celebrity = self.workload.celebrity()
        if celebrity is None:
            return None
        reader = self.population.any_celebrity_follower(celebrity, self.rng)
        return None if reader is None else self._posted(celebrity, reader)

    def _posted(self, author: int, reader: int) -> Acknowledged | None:
        post, reader_id = self.api.publish(self.population.user_id(author), "Do you see this?"), ""
        if post is None:
            return None
        acknowledged, reader_id = self.now(), self.population.user_id(reader)

        def look() -> bool | None:
            page = self.api.feed(reader_id, limit=FEED_LIMIT)
            return None if page is None else any(item.id == post for item in page.items)

        return Acknowledged(acknowledged, post, reader_id, look)

    def _like(self) -> Acknowledged | None:
        if not self._liked:
            return None
        post = self._liked.popleft()
        liker, reader = (
            self._normal_user(post.first_liker + post.likes),
            self._normal_user(post.first_liker - 1),
        )
        if not self.api.like(liker, post.id):
            return None  # it may count or not: the post is of no more use
        acknowledged, expected = self.now(), post.likes + 1

        def look() -> bool | None:
            count = self.api.like_count(reader, post.id)
            if count is None or count < expected:
                return None if count is None else False
            if expected < MOST_LIKES:
                self._liked.append(ProbePost(post.id, post.first_liker, expected))
            return True

        return Acknowledged(acknowledged, post.id, reader, look)

    def _follow(self) -> Acknowledged | None:
        if not self._pairs:
            return None
        pair = self._pairs.popleft()
        call = self.api.unfollow if pair.following else self.api.follow
        answer = call(pair.follower, pair.followee)
        if answer is not None:
            pair.following = answer.following
        if answer is None or not answer.changed:  # not changed: an earlier write, or run, had done it
            self._pairs.append(pair)
            return None
        acknowledged, expected = self.now(), 1 if pair.following else 0  # nobody else follows a spare

        def look() -> bool | None:
            count = self.api.follower_count(pair.follower, pair.followee)
            if count != expected:
                return None if count is None else False
            self._pairs.append(pair)
            return True

        return Acknowledged(
            acknowledged, pair.followee, pair.follower, look, lambda: self._pairs.append(pair)
        )

    def _normal_user(self, number: int) -> str:
        return self.population.user_id(self.population.celebrities + number % self.population.normal_users)

    def _make_pairs(self) -> list[Pair]:
        """This worker's part of the spares, two by two."""
        spares = [self.population.user_id(index) for index in self.population.spares]
        pairs = [Pair(a, b) for a, b in zip(spares[::2], spares[1::2], strict=False)]
        workers = self.workload.workers
        mine = pairs[self.workload.index % workers :: workers]
        self.rng.shuffle(mine)
        return mine

    def _keep_posts_ready(self) -> None:
        while not self._stopped:
            if len(self._liked) < POSTS_READY:
                author = self.population.any_user(self.rng)
                post = self.api.publish(self.population.user_id(author), "Like this")
                if post is not None:
                    self._liked.append(ProbePost(post, first_liker=author + 1))
            gevent.sleep(0.1 if len(self._liked) < POSTS_READY // 2 else 1.0)
