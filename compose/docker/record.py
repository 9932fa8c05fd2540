"""`<home>/docker.json`: which compose project later commands are to work with."""

from pathlib import Path

import msgspec

from compose.stack import StackError, StackOptions


class Record(msgspec.Struct, frozen=True):
    """`ours`: we started it, so we may take it down. Paths are absolute."""

    project: str
    ours: bool
    files: tuple[str, ...] = ()
    mapping: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    options: StackOptions = StackOptions()


def path(home: Path) -> Path:
    return home / "docker.json"


def read(home: Path) -> Record | None:
    """None if `home` remembers none. Raises StackError: the file makes no sense."""
    try:
        return msgspec.json.decode(path(home).read_bytes(), type=Record)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise StackError(f"{path(home)} does not describe a docker stack ({error}); delete it") from None


def write(home: Path, record: Record) -> None:
    """Replace it as a whole: a reader sees the old record or the new one."""
    home.mkdir(parents=True, exist_ok=True)
    new = path(home).with_suffix(".new")
    new.write_bytes(msgspec.json.encode(record))
    new.chmod(0o600)  # settings may hold passwords
    new.replace(path(home))


def forget(home: Path) -> None:
    path(home).unlink(missing_ok=True)
