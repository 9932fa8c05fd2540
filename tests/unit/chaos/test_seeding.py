import asyncio
import sys
from pathlib import Path

import psutil
import pytest

from chaos import seeding
from chaos.drill import Population
from chaos.errors import CouldNotRunError
from compose.waiting import wait_until
from tests.unit.chaos.fakes import FakeStack

PEOPLE = Population(users=3, celebrities=0, celebrity_followers=0)


def scripts(monkeypatch: pytest.MonkeyPatch, people: str, importer: str) -> None:
    monkeypatch.setattr(seeding, "people_command", lambda *_: [sys.executable, "-c", people])
    monkeypatch.setattr(seeding, "import_command", lambda **_: [sys.executable, "-c", importer])


async def test_people_go_into_the_importer_and_the_home_remembers_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts(monkeypatch, "print('a user')", "import sys; assert sys.stdin.read() == 'a user\\n'")
    stack = FakeStack(tmp_path)
    assert not seeding.is_seeded(tmp_path, stack, PEOPLE, 1)
    await seeding.seed_stack(tmp_path, stack, PEOPLE, 1)
    assert seeding.is_seeded(tmp_path, stack, PEOPLE, 1)
    assert not seeding.is_seeded(tmp_path, stack, PEOPLE, 2), "another seed means other people"
    assert seeding.seeded_population(tmp_path) == PEOPLE


async def test_an_importer_that_fails_is_quoted_and_nothing_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts(monkeypatch, "print('a user')", "import sys; sys.exit('Line 1 cannot be loaded')")
    with pytest.raises(CouldNotRunError, match="Line 1 cannot be loaded"):
        await seeding.seed_stack(tmp_path, FakeStack(tmp_path), PEOPLE, 1)
    assert seeding.seeded_population(tmp_path) is None


async def test_neither_process_outlives_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts(monkeypatch, "import time; time.sleep(60)", "import sys; sys.stdin.read()")
    before = set(psutil.Process().children())
    work = asyncio.create_task(seeding.seed_stack(tmp_path, FakeStack(tmp_path), PEOPLE, 1))

    def started() -> set[psutil.Process]:
        return set(psutil.Process().children()) - before

    await wait_until(lambda: len(started()) == 2, "two processes running", within_s=20)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert started() == set()
