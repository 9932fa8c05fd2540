"""Runs `docker compose` for a project: the only place that does."""

import asyncio
import os
import shutil
from pathlib import Path

from compose.stack import StackError

HERE = Path(__file__).parent.parent
COMPOSE_FILE, VERSIONS = HERE / "docker-compose.yml", HERE / "versions.env"


def command(project: str, files: tuple[Path, ...], *arguments: str) -> list[str]:
    """The argument vector. Raises StackError if there is no docker command."""
    docker = shutil.which("docker")
    if docker is None:
        raise StackError("There is no `docker` command on PATH: install Docker, or use the embedded stack")
    listed = [part for file in files for part in ("--file", str(file))]
    return [docker, "compose", "--env-file", str(VERSIONS), "--project-name", project, *listed, *arguments]


async def run(
    argv: list[str], log: Path, what: str, *, env: dict[str, str] | None = None, within_s: float
) -> None:
    """Run it to its end, its output going to `log`.

    Raises:
        StackError: it failed, or took longer; quotes the last line it said and names the log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(env or {})},
        )
        try:
            code = await asyncio.wait_for(process.wait(), within_s)
        except TimeoutError:
            raise StackError(
                f"{what} took longer than {within_s:g} s ({_last_line(log)}). See {log}"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if code != 0:
        raise StackError(f"{what} failed: {_last_line(log)}. See {log}")


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"
