"""Finding the stack that is up in a home directory, and the drivers for it."""

import os
from pathlib import Path

from chaos.drivers.process import ProcessDriver
from chaos.drivers.throttle import Throttles
from chaos.drivers.toxiproxy import ToxiproxyDriver
from chaos.targets import Arsenal
from compose.embedded import EmbeddedStack
from compose.stack import Stack


def default_home() -> Path:
    """Where a stack's state, leases and logs live: `$FEEDSTORM_HOME`, or `.feedstorm` here."""
    return Path(os.environ.get("FEEDSTORM_HOME") or ".feedstorm").resolve()


def attach(home: Path) -> Stack | None:
    """The stack that is up in `home`; None if there is none."""
    return EmbeddedStack.attach(home)


def arm(stack: Stack, home: Path, allowed_hosts: tuple[str, ...] = ()) -> Arsenal:
    """The stack with its drivers."""
    url = stack.endpoints.toxiproxy_url
    return Arsenal(
        stack=stack,
        members=ProcessDriver(stack, Throttles(home), allowed_hosts),
        links=ToxiproxyDriver(url, allowed_hosts) if url else None,
    )
