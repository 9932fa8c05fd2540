"""Directories for what is not a run itself: claims, a set of runs side by side, a game day.

They lie beside the runs and are named like them, but `latest` goes on pointing at the latest run.
"""

from datetime import UTC, datetime
from pathlib import Path

from chaos.errors import CouldNotRunError


def create(runs: Path, what: str) -> Path:
    """A new directory `<UTC>_<what>` under `runs`. Raises CouldNotRunError."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for attempt in range(100):
        directory = runs / (f"{stamp}_{what}" + (f".{attempt}" if attempt else ""))
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise CouldNotRunError(
                f"the directory {directory} could not be made: {error.strerror}; choose another with --runs"
            ) from None
        return directory.resolve()
    raise CouldNotRunError(f"no free name under {runs}: a hundred began in this second")
