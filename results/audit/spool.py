"""Rows in a temporary file: read from a store once, then by every invariant, without filling the memory."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from results.history import Log, read_rows

Row = TypeVar("Row")
_BATCH: Final = 1000


class Spool(Generic[Row]):
    """An iterable of rows that can be iterated more than once."""

    def __init__(self, path: Path, row_type: Any) -> None:
        self._path, self._row_type = path, row_type

    @classmethod
    def of(cls, path: Path, row_type: Any, rows: Iterable[Row]) -> "Spool[Row]":
        """Write the rows to `path`, which must not exist yet."""
        log: Log[Row] = Log(path)
        source = iter(rows)
        try:
            while batch := list(islice(source, _BATCH)):
                log.append(*batch)
        finally:
            log.close()
        return cls(path, row_type)

    def __iter__(self) -> Iterator[Row]:
        return read_rows(self._path, self._row_type)
