"""Filling a stack with a population: the load generator names the people, the app imports them."""

import asyncio
import os
import sys
from pathlib import Path

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
    log = home / "logs" / "seed.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    read_end, write_end = os.pipe()
    importer_output = None if progress else asyncio.subprocess.PIPE
    with log.open("wb") as errors:
        people = await asyncio.create_subprocess_exec(
            *people_command(population, seed), stdout=write_end, stderr=errors
        )
        os.close(write_end)
        importer = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "reference_app", "import", *(["--progress"] if progress else []),
            stdin=read_end, stdout=importer_output, stderr=None if progress else errors,
            env={**os.environ, **app_settings(stack)},
        )  # fmt: skip
        os.close(read_end)
        try:
            codes = await asyncio.wait_for(
                asyncio.gather(people.wait(), _finish(importer)), timeout=_IMPORT_WITHIN_S
            )
        finally:
            for process in (people, importer):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
    if any(codes):
        raise CouldNotRunError(f"the population could not be imported: {_last_line(log)}. See {log}")
    told = Seeded(_identity(stack), population, seed)
    write_atomically(home / "population.json", msgspec.json.encode(told))


def people_command(population: Population, seed: int) -> list[str]:
    return [
        sys.executable, "-m", "loadtests.population",
        "--users", str(population.users), "--celebrities", str(population.celebrities),
        "--celebrity-followers", str(population.celebrity_followers),
        "--follows-mean", str(population.follows_mean), "--seed", str(seed),
    ]  # fmt: skip


async def _finish(process: asyncio.subprocess.Process) -> int:
    await process.communicate()
    return process.returncode or 0


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
