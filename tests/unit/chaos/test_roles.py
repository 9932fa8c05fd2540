import random
from pathlib import Path

import pytest

from chaos import roles
from chaos.errors import CannotInjectError, UsageError
from compose.stack import State
from tests.unit.chaos.fakes import fake_arsenal


def resolve(text: str, home: Path, seed: int = 1, down: tuple[str, ...] = ()) -> list[str]:
    arsenal, stack, _ = fake_arsenal(home)
    for name in down:
        stack.control.states[name] = State.DOWN
    return [target.name for target in roles.resolve(roles.parse(text), arsenal, random.Random(seed))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("mongo:primary", ["mongo2"]),
        ("mongo:all", ["mongo1", "mongo2", "mongo3"]),
        ("mongo:majority", ["mongo2", "mongo1"]),
        ("mongo:mongo3", ["mongo3"]),
        ("redis", ["redis"]),
        ("api:all", ["api1", "api2"]),
        ("worker:fanout:all", ["worker-fanout1", "worker-fanout2"]),
        ("worker:upkeep", ["worker-upkeep"]),
        ("link:app->redis", ["api->redis", "worker->redis"]),
        ("link:api->redis", ["api->redis"]),
        ("link:app->mongo", ["app->mongo1", "app->mongo2", "app->mongo3"]),
        ("link:app->mongo:primary", ["app->mongo2"]),
    ],
)
def test_a_role_resolves_to_who_plays_it_now(text: str, names: list[str], tmp_path: Path) -> None:
    assert resolve(text, tmp_path) == names


def test_a_secondary_is_never_the_primary_and_any_is_drawn_by_the_seed(tmp_path: Path) -> None:
    drawn = {resolve("mongo:secondary", tmp_path, seed)[0] for seed in range(30)}
    assert drawn == {"mongo1", "mongo3"}
    assert resolve("api:any", tmp_path, 7) == resolve("api:any", tmp_path, 7)
    assert {resolve("api:any", tmp_path, seed)[0] for seed in range(30)} == {"api1", "api2"}


def test_a_member_that_is_down_plays_no_role(tmp_path: Path) -> None:
    assert resolve("api:all", tmp_path, down=("api1",)) == ["api2"]


@pytest.mark.parametrize("text", ["worker:likes", "link:app->kafka", "link:nobody->redis"])
def test_nobody_playing_a_role_is_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(CannotInjectError, match="plays"):
        resolve(text, tmp_path)


def test_a_misspelt_choice_is_not_taken_for_a_name() -> None:
    with pytest.raises(UsageError, match="did you mean 'mongo:primary'"):
        roles.parse("mongo:primray")
    assert roles.parse("mongo:mongo1").choice == "mongo1"


def test_no_primary_is_an_error(tmp_path: Path) -> None:
    arsenal, stack, _ = fake_arsenal(tmp_path)
    stack.now_primary = None
    with pytest.raises(CannotInjectError, match="mongo:primary"):
        roles.resolve(roles.parse("mongo:primary"), arsenal, random.Random(1))


def test_the_store_is_never_a_target(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no component 'store'"):
        resolve("store", tmp_path)
    with pytest.raises(CannotInjectError):
        resolve("mongo:store", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "monogo:primary",
        "redis:primary",
        "mongo",
        "link:app",
        "link:->redis",
        "api:any:all",
        "link:app->redis:big",
    ],
)
def test_what_is_not_a_role_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UsageError):
        roles.parse(text)
