import asyncio
import sys
from dataclasses import asdict
from pathlib import Path

import msgspec
import psutil
import pytest

from chaos import seeding
from chaos.drill import Population
from chaos.errors import CouldNotRunError
from compose.waiting import wait_until
from loadtests.population import Population as LoadPopulation
from loadtests.population import parse_population
from tests.unit.chaos.fakes import FakeStack

PEOPLE = Population(users=300, celebrities=1, celebrity_followers=40, seed=1)


def scripts(monkeypatch: pytest.MonkeyPatch, people: str, importer: str) -> None:
    monkeypatch.setattr(seeding, "people_command", lambda *_: [sys.executable, "-c", people])
    monkeypatch.setattr(seeding, "import_command", lambda *_: [sys.executable, "-c", importer])


async def test_people_go_into_the_importer_and_the_home_remembers_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts(monkeypatch, "print('a user')", "import sys; assert sys.stdin.read() == 'a user\\n'")
    stack = FakeStack(tmp_path)
    assert seeding.seeded_population(tmp_path, stack) is None
    await seeding.seed_stack(tmp_path, stack, PEOPLE)
    assert seeding.seeded_population(tmp_path, stack) == PEOPLE
    again = FakeStack(tmp_path, id="fake-2")
    assert seeding.seeded_population(tmp_path, again) is None, "a new stack has nobody, wherever it listens"


def test_the_load_generator_reads_a_population_as_it_is_said() -> None:
    assert asdict(parse_population(str(PEOPLE), 7)) == msgspec.structs.asdict(PEOPLE)
    assert parse_population(str(Population()), 7).seed == 7
    assert Population().settled(3) == Population(seed=3)
    assert PEOPLE.settled(3) == PEOPLE, "its own seed stays"
    assert Population() == Population(**{k: v for k, v in asdict(LoadPopulation()).items() if k != "seed"})


async def test_an_importer_that_fails_is_quoted_and_nothing_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts(monkeypatch, "print('a user')", "import sys; sys.exit('Line 1 cannot be loaded')")
    with pytest.raises(CouldNotRunError, match="Line 1 cannot be loaded"):
        await seeding.seed_stack(tmp_path, FakeStack(tmp_path), PEOPLE)
    assert seeding.seeded_population(tmp_path, FakeStack(tmp_path)) is None


async def test_neither_process_outlives_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts(monkeypatch, "import time; time.sleep(60)", "import sys; sys.stdin.read()")
    before = set(psutil.Process().children())
    work = asyncio.create_task(seeding.seed_stack(tmp_path, FakeStack(tmp_path), PEOPLE))

    def started() -> set[psutil.Process]:
        return set(psutil.Process().children()) - before

    await wait_until(lambda: len(started()) == 2, "two processes running", within_s=20)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert started() == set()
