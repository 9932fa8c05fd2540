"""The Docker engine: how it is reached, and what its failures are called in one plain sentence."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import docker
import docker.errors
import requests
from docker.context import ContextAPI

from compose.stack import StackError

_TIMEOUT_S = 60  # a machine under load takes its time to make a container
_NETWORK = ("tcp", "http", "https", "ssh")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def address() -> str:
    """Where the engine is: `DOCKER_HOST`, else the docker CLI's current context."""
    return os.environ.get("DOCKER_HOST") or str(ContextAPI.get_current_context().Host)


def refuse_strangers(where: str, allowed_hosts: tuple[str, ...]) -> None:
    """Raises StackError if the engine is on another machine that nobody allowed by name."""
    parts = urlsplit(where)
    host = parts.hostname or ""
    if parts.scheme not in _NETWORK or host in _LOOPBACK or host in allowed_hosts:
        return
    raise StackError(
        f"The Docker engine is on {host}, not on this machine, and is left alone: "
        f"allow it with --allow-host {host} if it is yours to break"
    )


def connect(allowed_hosts: tuple[str, ...] = ()) -> docker.DockerClient:
    """A client of the engine, after it answered once.

    Raises:
        StackError: there is none, it refuses us, or it is a stranger's.
    """
    with plainly("No Docker engine can be used"):
        where = address()
        refuse_strangers(where, allowed_hosts)
        _knock(where)
        client = docker.DockerClient(
            base_url=where, timeout=_TIMEOUT_S, use_ssh_client=where.startswith("ssh")
        )
        try:
            client.ping()
        except Exception:
            client.close()
            raise
        return client


def _knock(where: str) -> None:
    """Raises OSError where nobody listens: the SDK would leave its socket open then."""
    if where.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_TIMEOUT_S)
            probe.connect(where.removeprefix("unix://"))


@contextmanager
def plainly(what: str) -> Iterator[None]:
    """Turns whatever the SDK raises into a StackError that begins with `what` ("mongo1 was not killed")."""
    try:
        yield
    except docker.errors.NotFound as error:
        raise StackError(f"{what}: {error.explanation or 'it is gone'}") from None
    except docker.errors.APIError as error:
        raise StackError(f"{what}: the Docker engine answered '{error.explanation or error}'") from None
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise StackError(f"{what}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What is wrong with the engine, from the innermost cause: the SDK wraps it up to five times."""
    text = repr(error)
    if "PermissionError" in text or "Permission denied" in text:
        return "no permission to use it; add yourself to the group `docker`, or run this as a user who may"
    if "FileNotFoundError" in text or "ConnectionRefusedError" in text or "Connection refused" in text:
        return f"nothing answers at {_shown(address())}; start Docker, or use the embedded stack"
    if "timed out" in text or "Timeout" in text:
        return f"the Docker engine did not answer within {_TIMEOUT_S} s"
    if "RemoteDisconnected" in text or "Connection aborted" in text:
        return "the Docker engine went away; start it, and heal with `feedstorm heal`"
    return f"{type(error).__name__}: {error}"


def _shown(where: str) -> str:
    """The address without a user or a password."""
    parts = urlsplit(where)
    return where.replace(parts.netloc, parts.hostname or "", 1) if "@" in parts.netloc else where
