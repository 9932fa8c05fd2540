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

_SLOWEST_IMPORT = 200
"""Documents a second; a load that is slower than that has stopped."""


class Seeded(msgspec.Struct):
    """What `<home>/population.json` says: which stack was filled, and with whom."""

    stack: str
    population: Population


def app_settings(stack: Stack) -> dict[str, str]:
    """The settings by which another process of the app reaches this stack, as the app itself does."""
    settings: dict[str, str] = dict(stack.app_env)
    endpoints = stack.endpoints
    settings.update(
        FEED_MONGO_URI=endpoints.mongo_uri,
        FEED_MONGO_DATABASE=endpoints.mongo_database,
        FEED_REDIS_URL=endpoints.redis_url,
        FEED_KAFKA_BOOTSTRAP=endpoints.kafka_bootstrap,
    )
    return settings


def seeded_population(home: Path, stack: Stack) -> Population | None:
    """Who was put on this very stack last, with their seed; None if nobody was."""
    try:
        seeded = msgspec.json.decode((home / "population.json").read_bytes(), type=Seeded)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return seeded.population if seeded.stack == stack.id else None


async def seed_stack(home: Path, stack: Stack, population: Population, *, progress: bool = False) -> None:
    """Put a settled population on the stack. Raises CouldNotRunError with the importer's last words."""
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    people_log, import_log = logs / "seed-people.log", logs / "seed-import.log"
    with people_log.open("wb") as people_output, import_log.open("wb") as import_output:
        people_code, import_code = await _pipe(
            (people_command(population), people_output),
            (import_command(population.documents if progress else 0), None if progress else import_output),
            {**os.environ, **app_settings(stack)},
            within_s=120 + population.documents / _SLOWEST_IMPORT,
        )
    if import_code or people_code:  # when the importer fails, the other only says that its pipe broke
        log = import_log if import_code else people_log
        raise CouldNotRunError(f"the population could not be imported: {_last_line(log)}. See {log}")
    write_atomically(home / "population.json", msgspec.json.encode(Seeded(stack.id, population)))


Started: TypeAlias = tuple[list[str], IO[bytes] | None]
"""A command line, and where its output goes (None: to the terminal)."""


async def _pipe(
    people: Started, importer: Started, environment: dict[str, str], *, within_s: float
) -> tuple[int, int]:
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
        async with asyncio.timeout(within_s):
            return await running[0].wait(), await running[1].wait()
    except TimeoutError:
        raise CouldNotRunError(f"the population was not imported within {within_s:.0f} s") from None
    finally:
        for process in running:
            if process.returncode is None:
                process.kill()
                await process.wait()


def people_command(population: Population) -> list[str]:
    return [sys.executable, "-m", "loadtests.population", str(population)]


def import_command(expected: int) -> list[str]:
    """`expected` is about how many documents to show a progress bar for; 0: none is shown."""
    shown = ["--progress", "--expect", str(expected)] if expected else []
    return [sys.executable, "-m", "reference_app", "import", *shown]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
