import io
import json
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadtests.population import Population, PopulationError, parse_population, write_lines

small = st.builds(
    Population,
    users=st.integers(100, 400),
    celebrities=st.integers(0, 3),
    celebrity_followers=st.integers(0, 90),
    follows_mean=st.floats(0, 10),
    seed=st.integers(0, 1000),
)


@given(small)
@settings(max_examples=40, deadline=None)
def test_nobody_follows_anybody_twice_or_themselves(population: Population) -> None:
    follows = list(population.follows())
    assert len(set(follows)) == len(follows)
    assert all(a != b and 0 <= a < population.users and 0 <= b < population.users for a, b in follows)


@given(small)
@settings(max_examples=40, deadline=None)
def test_celebrities_have_exactly_the_followers_they_should_have(population: Population) -> None:
    followers = Counter(b for _, b in population.follows())
    for celebrity in range(population.celebrities):
        assert followers[celebrity] == population.celebrity_followers


@given(small, st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_what_one_user_follows_agrees_with_the_whole(population: Population, number: int) -> None:
    user = number % population.users
    whole = sorted(b for a, b in population.follows() if a == user)
    assert sorted(population.followed_by(user) + population.celebrities_followed_by(user)) == whole


@given(small, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_readers_are_neither_fans_nor_spares_nor_celebrities(population: Population, seed: int) -> None:
    rng = random.Random(seed)
    reader, fan = population.any_reader(rng), population.any_fan(rng)
    assert not population.is_fan(reader)
    assert reader not in population.spares
    assert not population.is_celebrity(reader)
    assert population.is_fan(fan)
    assert set(population.followed_by(reader)).isdisjoint(population.spares)


def test_the_same_seed_gives_the_same_population_in_every_process() -> None:
    text = "users=120,celebrity_followers=40,seed=5"
    command = [sys.executable, "-m", "loadtests.population", text]
    outputs = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)}
    here = io.StringIO()
    write_lines(parse_population(text, 9), here)
    assert outputs == {here.getvalue().encode()}
    assert parse_population(text, 9) == Population(120, 1, 40, seed=5), "its own seed comes first"
    assert Population(120, 1, 40, seed=6).ids != Population(120, 1, 40, seed=5).ids


def test_it_prints_users_before_the_follows_that_name_them() -> None:
    population = Population(100, 1, 40, seed=1)
    lines = [json.loads(line) for line in population.import_lines()]
    users = [line["user"]["id"] for line in lines[:100]]
    assert users == list(population.ids)
    for line in lines[100:]:
        follower, followee, at = line["follow"]
        assert {follower, followee} <= set(users)
        assert isinstance(at, int)


def test_popularity_is_zipfs_but_nobody_normal_is_a_celebrity() -> None:
    population = Population(2000, 1, 1200, 10, seed=3)
    followers = Counter(b for _, b in population.follows())
    normal = sorted((n for user, n in followers.items() if user > 0), reverse=True)
    assert normal[0] < 1200 / 3
    assert normal[0] > 5 * normal[len(normal) // 2]


def test_making_it_needs_neither_locust_nor_gevent() -> None:
    script = "import sys, loadtests.population; sys.exit('locust' in sys.modules or 'gevent' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_hundred_thousand_follows_take_seconds() -> None:
    began = time.process_time()
    assert sum(1 for _ in Population(10_000, 2, 2000, 10, seed=1).import_lines()) > 90_000
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "text",
    ["users=5", "users=100,celebrity_followers=500", "users=x", "people=3", "follows_mean=900"],
)
def test_a_population_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(PopulationError):
        parse_population(text, 0)
