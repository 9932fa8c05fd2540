"""Finding the stack that is up in a home directory, making one, and arming it with drivers."""

from pathlib import Path

from chaos.drivers.process import ProcessDriver
from chaos.drivers.throttle import Throttles
from chaos.drivers.toxiproxy import ToxiproxyDriver
from chaos.errors import UsageError
from chaos.targets import Arsenal
from chaos.units import suggest
from compose.embedded.stack import EmbeddedStack, default_home
from compose.stack import Stack, StackOptions

__all__ = ["KINDS", "arm", "attach", "create", "default_home"]

KINDS = ("embedded", "docker")


def attach(home: Path) -> Stack | None:
    """The stack that is up in `home`, whatever its kind; None if there is none. Raises StackError."""
    embedded = EmbeddedStack.attach(home)
    if embedded is not None:
        return embedded
    if not (home / "docker.json").exists():
        return None
    from compose.docker_stack import DockerStack  # needs the Docker SDK, which is slow to load

    return DockerStack.attach(home)


def create(kind: str, home: Path, options: StackOptions, allowed_hosts: tuple[str, ...] = ()) -> Stack:
    """A stack that is not up yet. Raises StackError, UsageError."""
    if kind == "embedded":
        return EmbeddedStack.create(home, options)
    if kind == "docker":
        from compose.docker_stack import DockerStack  # needs the Docker SDK, which is slow to load

        return DockerStack.create(home, options, allowed_hosts=allowed_hosts)
    raise UsageError(f"no kind of stack '{kind}'{suggest(kind, KINDS)}")


def arm(stack: Stack, home: Path, allowed_hosts: tuple[str, ...] = ()) -> Arsenal:
    """The stack with its drivers."""
    url = stack.endpoints.toxiproxy_url
    return Arsenal(
        stack=stack,
        members=_driver(stack, Throttles(home), allowed_hosts),
        links=ToxiproxyDriver(url, allowed_hosts) if url else None,
    )


def _driver(stack: Stack, throttles: Throttles, allowed_hosts: tuple[str, ...]) -> ProcessDriver:
    if stack.kind == "docker":
        from chaos.drivers.docker import DockerDriver  # needs the Docker SDK, which is slow to load
        from compose.docker.control import DockerControl

        if isinstance(stack.control, DockerControl):
            return DockerDriver(stack, stack.control, throttles, allowed_hosts)
    return ProcessDriver(stack, throttles, allowed_hosts)
