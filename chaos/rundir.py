"""The directory of one run: made, described, and filled with the logs of everything that took part.

What is not a run itself (claims, a set of runs side by side, a game day) gets a directory beside the runs,
named like them; `latest` goes on pointing at the latest run.
"""

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil

from chaos.drill import Drill
from chaos.errors import CouldNotRunError
from compose.stack import Stack
from results.history import RUN, RunInfo, write_atomically
from results.urls import shown

_LOG_TAIL_BYTES = 2_000_000


def create(runs: Path, drill: str) -> Path:
    """A new directory for a run of `drill`, with `latest` pointing at it. Raises CouldNotRunError."""
    directory = create_beside(runs, drill)
    try:
        (directory / "logs").mkdir()
        _point_latest_at(directory)
    except OSError as error:
        raise _not_made(directory, error) from None
    return directory


def create_beside(runs: Path, what: str) -> Path:
    """A new directory `<UTC>_<what>` under `runs`. Raises CouldNotRunError."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for attempt in range(100):
        directory = runs / (f"{stamp}_{what}" + (f".{attempt}" if attempt else ""))
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise _not_made(directory, error) from None
        return directory.resolve()
    raise CouldNotRunError(f"no free name under {runs}: a hundred began in this second")


def _not_made(directory: Path, error: OSError) -> CouldNotRunError:
    return CouldNotRunError(
        f"the directory {directory} could not be made: {error.strerror}; choose another with --runs"
    )


def _point_latest_at(directory: Path) -> None:
    temporary = directory.parent / f".latest.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(directory.name)
    temporary.replace(directory.parent / "latest")


def describe(
    directory: Path, drill: Drill, stack: Stack, *, seed: int, command: str, for_drift: bool = False
) -> RunInfo:
    """Write `run.json`: everything that is needed to run this again."""
    info = RunInfo(
        run=directory.name,
        drill=drill.to_dict(),
        seed=seed,
        stack=stack.kind,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        command=command,
        versions=stack.versions(),
        stack_limits=list(stack.limits),
        host=_host(),
        population=msgspec.to_builtins(drill.population.settled(seed)),
        settings=dict(drill.stack.env),
        for_drift=for_drift,
    )
    write_atomically(
        directory / RUN, shown(msgspec.json.format(msgspec.json.encode(info), indent=2).decode())
    )
    return info


def _host() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
    }


def copy_logs(directory: Path, logs: Iterable[Path]) -> None:
    """Copy the end of each log, passwords in URLs left out. A log that cannot be read is passed over."""
    for log in logs:
        try:
            with log.open("rb") as source:
                size = source.seek(0, os.SEEK_END)
                source.seek(max(0, size - _LOG_TAIL_BYTES))
                text = source.read().decode(errors="replace")
            (directory / "logs" / log.name).write_text(shown(text))
        except OSError:
            continue
