"""Where a swarm's rows are appended: the series, staleness and ledger files of a run's directory."""

from pathlib import Path

import msgspec

from results.history import LEDGER, SERIES, STALENESS, Log


class Journal:
    """Appends JSON lines as they come from the workers. Without a directory, nothing is kept."""

    def __init__(self, directory: Path | None) -> None:
        self._logs: dict[str, Log[msgspec.Raw]] = {}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            self._logs = {name: Log(directory / name) for name in (SERIES, STALENESS, LEDGER)}

    def append(self, *, series: bytes = b"", staleness: bytes = b"", ledger: bytes = b"") -> None:
        """Each argument is JSON lines without the last line's end. Raises OSError if the disk is full."""
        for name, lines in ((SERIES, series), (STALENESS, staleness), (LEDGER, ledger)):
            if lines and self._logs:
                self._logs[name].append(msgspec.Raw(lines))

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
