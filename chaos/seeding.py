"""Filling a stack with a population: the load generator names the people, the app imports them."""

import asyncio
import os
import sys
from asyncio import create_subprocess_exec
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from chaos.drill import Population
from chaos.errors import CouldNotRunError
from compose.stack import Stack
from results.history import write_atomically

_IMPORT_WITHIN_S = 900.0


class Seeded(msgspec.Struct):
    """What `<home>/population.json` says: which stack was filled, and with whom."""

    stack: str
    population: Population
    seed: int


def app_settings(stack: Stack) -> dict[str, str]:
    """The settings by which another process of the app reaches this stack, as the app itself does."""
    settings: dict[str, str] = dict(getattr(stack, "app_env", {}))
    endpoints = stack.endpoints
    settings.update(
        FEED_MONGO_URI=endpoints.mongo_uri,
        FEED_MONGO_DATABASE=endpoints.mongo_database,
        FEED_REDIS_URL=endpoints.redis_url,
        FEED_KAFKA_BOOTSTRAP=endpoints.kafka_bootstrap,
    )
    return settings


def is_seeded(home: Path, stack: Stack, population: Population, seed: int) -> bool:
    """Whether this very population was put on this very stack before."""
    return _read(home) == Seeded(_identity(stack), population, seed)


def _identity(stack: Stack) -> str:
    """Another one after every `up`. Ports do not tell: they may be the same again, or move meanwhile."""
    return str(getattr(stack, "id", "") or stack.endpoints.mongo_uri)


def seeded_population(home: Path) -> Population | None:
    """Who was put on the stack last, if anybody was."""
    seeded = _read(home)
    return seeded.population if seeded is not None else None


def _read(home: Path) -> Seeded | None:
    try:
        return msgspec.json.decode((home / "population.json").read_bytes(), type=Seeded)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


async def seed_stack(
    home: Path, stack: Stack, population: Population, seed: int, *, progress: bool = False
) -> None:
    """Put the population on the stack. Raises CouldNotRunError with the importer's last words."""
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    people_log, import_log = logs / "seed-people.log", logs / "seed-import.log"
    with people_log.open("wb") as people_output, import_log.open("wb") as import_output:
        people_code, import_code = await _pipe(
            (people_command(population, seed), people_output),
            (import_command(progress=progress), None if progress else import_output),
            {**os.environ, **app_settings(stack)},
        )
    if import_code or people_code:  # when the importer fails, the other only says that its pipe broke
        log = import_log if import_code else people_log
        raise CouldNotRunError(f"the population could not be imported: {_last_line(log)}. See {log}")
    told = Seeded(stack.endpoints.mongo_uri, population, seed)
    write_atomically(home / "population.json", msgspec.json.encode(told))


Started: TypeAlias = tuple[list[str], IO[bytes] | None]
"""A command line, and where its output goes (None: to the terminal)."""


async def _pipe(people: Started, importer: Started, environment: dict[str, str]) -> tuple[int, int]:
    """Run both, the output of the first into the second; neither outlives this. Returns their exit codes."""
    read_end, write_end = os.pipe()
    running: list[asyncio.subprocess.Process] = []
    try:
        (command, log), (import_argv, import_log) = people, importer
        running.append(await create_subprocess_exec(*command, stdout=write_end, stderr=log))
        os.close(write_end)
        running.append(
            await create_subprocess_exec(
                *import_argv, stdin=read_end, stdout=import_log, stderr=import_log, env=environment
            )
        )
        os.close(read_end)
        async with asyncio.timeout(_IMPORT_WITHIN_S):
            return await running[0].wait(), await running[1].wait()
    except TimeoutError:
        raise CouldNotRunError(f"the population was not imported within {_IMPORT_WITHIN_S:g} s") from None
    finally:
        for process in running:
            if process.returncode is None:
                process.kill()
                await process.wait()


def people_command(population: Population, seed: int) -> list[str]:
    return [
        sys.executable, "-m", "loadtests.population",
        "--users", str(population.users), "--celebrities", str(population.celebrities),
        "--celebrity-followers", str(population.celebrity_followers),
        "--follows-mean", str(population.follows_mean), "--seed", str(seed),
    ]  # fmt: skip


def import_command(*, progress: bool) -> list[str]:
    return [sys.executable, "-m", "reference_app", "import", *(["--progress"] if progress else [])]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
