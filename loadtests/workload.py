"""What the users of one process share: the population, the posts they know of, and where to write."""

import random
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from gevent.pool import Group

from loadtests.hot_posts import HotPosts
from loadtests.ledger import Ledger
from loadtests.population import Population
from loadtests.settings import Settings
from results.history import Clock, StalenessSample

REMEMBERED_READERS: Final = 50_000
STORM_S: Final = 10.0
"""So long after a celebrity has posted, half of those who open the app are its followers."""


@dataclass
class Workload:
    """One per process and test. `probes` are the probes that are not decided yet, `helpers` what
    serves them; `cut`: ask nothing more."""

    settings: Settings
    clock: Clock
    ledger: Ledger
    rng: random.Random
    worker: str
    index: int = 0
    workers: int = 1
    posts: HotPosts = field(default_factory=HotPosts)
    staleness: list[StalenessSample] = field(default_factory=list)
    probes: Group = field(default_factory=Group)
    helpers: Group = field(default_factory=Group)
    cut: bool = False
    _saw_posts: set[int] = field(default_factory=set)
    _moment: tuple[int, float] | None = None

    @property
    def population(self) -> Population:
        return self.settings.population

    def celebrity(self) -> int | None:
        """Some celebrity; None in a population without any."""
        celebrities = self.population.celebrities
        return self.rng.randrange(celebrities) if celebrities else None

    def celebrity_posted(self, celebrity: int) -> None:
        self._moment = (celebrity, self.clock.now())

    def who_opens_the_app(self) -> int:
        """A reader; right after a celebrity has posted, every other time one of its followers."""
        if self._moment is not None:
            celebrity, at = self._moment
            if self.clock.now() - at > STORM_S:
                self._moment = None
            elif self.rng.random() < 0.5:
                follower = self.population.any_celebrity_follower(celebrity, self.rng)
                if follower is not None:
                    return follower
        return self.population.any_reader(self.rng)

    def saw_posts(self, reader: int) -> None:
        if len(self._saw_posts) < REMEMBERED_READERS:
            self._saw_posts.add(reader)

    def has_posts(self, reader: int) -> bool:
        """This reader was shown posts before. Nothing deletes posts, so an empty feed would be wrong."""
        return reader in self._saw_posts

    def take_staleness(self) -> list[StalenessSample]:
        samples, self.staleness = self.staleness, []
        return samples


_OF: "WeakKeyDictionary[Any, Workload]" = WeakKeyDictionary()


def set_workload(environment: Any, workload: Workload) -> None:
    _OF[environment] = workload


def workload_of(environment: Any) -> Workload:
    """The workload of a Locust environment. Raises RuntimeError before the test has started."""
    try:
        return _OF[environment]
    except KeyError:
        raise RuntimeError("the locustfile must call loadtests.swarm.attach() before these users") from None
