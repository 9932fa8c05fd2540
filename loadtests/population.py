"""The population: users, celebrities and who follows whom, all computed from one seed.

Every process computes the same population without talking to any other. Nobody is stored: a user is
an index, whose id and followings are functions of the index.

    [0, celebrities)      celebrities, each followed by exactly `celebrity_followers` others
    the rest              normal users, whose popularity is Zipf's
    ... of whom every 5th is a fan, who follows and unfollows celebrities while the swarm runs,
    ... and the last few are spares, whom nobody touches but the staleness probes

    python -m loadtests.population users=N,...     prints the app's import format

This module must stay importable without Locust or gevent.
"""

import argparse
import itertools
import math
import random
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final, TextIO

_NAMESPACE: Final = uuid.UUID("5f0c5a0e-7a1c-5f0e-9d0e-feed57000000")
_EPOCH_MS: Final = 1_767_225_600_000  # 2026-01-01T00:00:00Z: when the first user joined
_FAN_EVERY: Final = 5
_SPARES: Final = 64
_LINES_PER_WRITE: Final = 5_000


class PopulationError(ValueError):
    """A population cannot be as asked. The message is one plain sentence for a user."""


@dataclass(frozen=True)
class Population:
    """Users are indices from 0 to `users` - 1; `user_id` gives the id that the API knows.

    `follows_mean` is how many normal users a user follows on average. `seed` says who they are.
    """

    users: int = 2000
    celebrities: int = 1
    celebrity_followers: int = 1200
    follows_mean: float = 5.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.celebrities >= 0 or self.users < self.celebrities + 10:
            raise PopulationError(
                f"a population of {self.users} users cannot have {self.celebrities} celebrities:"
                " at least 10 others are needed"
            )
        if self.celebrities and not 0 <= self.celebrity_followers <= self.normal_users:
            raise PopulationError(
                f"a celebrity cannot have {self.celebrity_followers} followers:"
                f" there are only {self.normal_users} normal users"
            )
        if not 0 <= self.follows_mean <= self.normal_users / 4:
            raise PopulationError(
                f"{self.normal_users} normal users cannot follow {self.follows_mean:g} others each on average"
            )

    # -- who there is ------------------------------------------------------------------------

    @property
    def normal_users(self) -> int:
        return self.users - self.celebrities

    @cached_property
    def ids(self) -> Sequence[str]:
        """All ids, by index. Made once, when first needed: 2 us a user."""
        return [str(uuid.uuid5(_NAMESPACE, f"{self.seed}:{index}")) for index in range(self.users)]

    def user_id(self, index: int) -> str:
        return self.ids[index]

    def is_celebrity(self, index: int) -> bool:
        return index < self.celebrities

    @cached_property
    def spares(self) -> range:
        """Normal users whom nobody follows or unfollows but the probes."""
        return range(self.users - min(_SPARES, self.normal_users // 5), self.users)

    @cached_property
    def _takers(self) -> int:
        """How many normal users are not spares."""
        return self.spares.start - self.celebrities

    def is_fan(self, index: int) -> bool:
        """Fans come and go among the followers of celebrities while the swarm runs."""
        return self.celebrities <= index < self.spares.start and index % _FAN_EVERY == 0

    def any_user(self, rng: random.Random) -> int:
        """A normal user that is not a spare."""
        return self.celebrities + int(rng.random() * self._takers)  # far faster than `randrange`

    def any_reader(self, rng: random.Random) -> int:
        """A normal user whose followings stay as they were seeded."""
        while self.is_fan(index := self.any_user(rng)):
            pass
        return index

    def any_fan(self, rng: random.Random) -> int:
        first = -(-self.celebrities // _FAN_EVERY) * _FAN_EVERY
        return rng.randrange(first, max(first + 1, self.spares.start), _FAN_EVERY)

    def warm_up(self) -> None:
        """Make what is made once: otherwise the first users pay for it."""
        self.user_id(0), self.followed_by(self.celebrities), self.celebrities_followed_by(self.celebrities)

    # -- who follows whom --------------------------------------------------------------------

    def followed_by(self, index: int) -> list[int]:
        """The normal users that a user follows from the start. Celebrities and spares follow nobody."""
        if self.is_celebrity(index) or index >= self.spares.start or self.follows_mean == 0:
            return []
        rng = random.Random((self.seed << 32) ^ index)
        wanted = min(self._degree(rng), self.normal_users // 2)
        chosen: dict[int, None] = {}
        for _ in range(4):  # popular users are drawn more than once: a few rounds fill the gaps
            draws = rng.choices(self._by_popularity, cum_weights=self._popularity, k=wanted - len(chosen))
            chosen.update(dict.fromkeys(other for other in draws if other != index))
            if len(chosen) >= wanted:
                break
        return list(chosen)

    def celebrities_followed_by(self, index: int) -> list[int]:
        """The celebrities that a user follows from the start."""
        if self.is_celebrity(index):
            return []
        place = index - self.celebrities
        return [
            c
            for c in range(self.celebrities)
            if self._rank_among_followers(c, place) < self.celebrity_followers
        ]

    def celebrity_follower(self, celebrity: int, rank: int) -> int:
        """The follower number `rank` (0 .. celebrity_followers - 1) of a celebrity."""
        start, step, _ = self._walks[celebrity]
        return self.celebrities + (start + rank * step) % self.normal_users

    def any_celebrity_follower(self, celebrity: int, rng: random.Random) -> int | None:
        """A follower of a celebrity who stays one; None if it has none such."""
        for _ in range(50):
            if not self.celebrity_followers:
                break
            index = self.celebrity_follower(celebrity, int(rng.random() * self.celebrity_followers))
            if not self.is_fan(index):
                return index
        return None

    def _degree(self, rng: random.Random) -> int:
        """How many a user follows: exponential around the mean, so that a few follow many."""
        return max(1, round(rng.expovariate(1 / self.follows_mean)))

    @cached_property
    def _by_popularity(self) -> Sequence[int]:
        indices = list(range(self.celebrities, self.spares.start))
        random.Random(self.seed).shuffle(indices)
        return indices

    @cached_property
    def _popularity(self) -> Sequence[float]:
        """Cumulative Zipf-Mandelbrot weights: 1 / (rank + q), with q such that nobody normal is as
        popular as a quarter of a celebrity, or as a tenth of everybody."""
        total = self.users * self.follows_mean
        most = self.users / 10
        if self.celebrities and self.celebrity_followers:
            most = min(most, self.celebrity_followers / 4)
        count, q = len(self._by_popularity), 1.0
        while total / (1 + q) / math.log((count + q) / q + 1) > most and q < count:
            q *= 2
        return list(itertools.accumulate(1 / (rank + q) for rank in range(1, count + 1)))

    @cached_property
    def _walks(self) -> Sequence[tuple[int, int, int]]:
        """Per celebrity: start, step and inverse step of a walk that meets every normal user once.
        Its followers are the walk's first places."""
        walks = []
        for celebrity in range(self.celebrities):
            rng = random.Random((self.seed << 20) ^ ~celebrity)
            start, step = rng.randrange(self.normal_users), rng.randrange(1, self.normal_users)
            while math.gcd(step, self.normal_users) != 1:
                step = step % (self.normal_users - 1) + 1
            walks.append((start, step, pow(step, -1, self.normal_users)))
        return walks

    def _rank_among_followers(self, celebrity: int, place: int) -> int:
        start, _, inverse = self._walks[celebrity]
        return (place - start) * inverse % self.normal_users

    # -- the import format -------------------------------------------------------------------

    def import_lines(self) -> Iterator[str]:
        """JSON lines as `reference_app import` reads them: all users, then all follows."""
        ids = self.ids
        for index, user_id in enumerate(ids):
            name = f"celebrity {index}" if self.is_celebrity(index) else f"user {index}"
            yield f'{{"user":{{"id":"{user_id}","name":"{name}","createdAt":{_EPOCH_MS + index}}}}}'
        at = _EPOCH_MS + self.users
        for number, (follower, followee) in enumerate(self.follows()):
            yield f'{{"follow":["{ids[follower]}","{ids[followee]}",{at + number}]}}'

    def follows(self) -> Iterator[tuple[int, int]]:
        """Every follow of the start, as (follower, followee) indices, each once."""
        for celebrity in range(self.celebrities):
            for rank in range(self.celebrity_followers):
                yield self.celebrity_follower(celebrity, rank), celebrity
        for index in range(self.celebrities, self.spares.start):
            for other in self.followed_by(index):
                yield index, other


def parse_population(text: str, seed: int) -> Population:
    """Read `"users=2000,celebrities=1,celebrity_followers=1200,follows_mean=5,seed=1"`.

    All parts are optional; `seed` is for one that does not say its own.

    Raises:
        PopulationError: a part is unknown or not a number, or such a population cannot be.
    """
    values: dict[str, float] = {"seed": seed}
    known = [field.name for field in fields(Population)]
    for part in filter(None, text.split(",")):
        key, _, value = part.strip().partition("=")
        key = key.replace("-", "_")
        if key not in known:
            raise PopulationError(f"population {text!r}: {key!r} is not one of {', '.join(known)}")
        try:
            values[key] = float(value) if key == "follows_mean" else int(value)
        except ValueError:
            raise PopulationError(f"population {text!r}: {key} must be a number, not {value!r}") from None
    return Population(**values)  # type: ignore[arg-type]  # ints but for follows_mean, checked above


def write_lines(population: Population, out: TextIO) -> None:
    lines = population.import_lines()
    while batch := list(itertools.islice(lines, _LINES_PER_WRITE)):
        out.write("\n".join(batch) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a population in the app's import format."""
    parser = argparse.ArgumentParser(prog="python -m loadtests.population", description=main.__doc__)
    parser.add_argument("population", help="such as users=2000,celebrities=1,celebrity_followers=1200,seed=1")
    try:
        population = parse_population(parser.parse_args(arguments).population, Population.seed)
    except PopulationError as error:
        parser.error(str(error))
    try:
        write_lines(population, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has gone: it says why itself
        sys.stderr.close()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
