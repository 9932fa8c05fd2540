"""The containers of one compose project, found by the labels that compose gave them, never by a pattern."""

import re
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker

from compose.docker import engine
from compose.docker.mapping import Mapping, Part
from compose.stack import Member, StackError, State

_PROJECT, _SERVICE = "com.docker.compose.project", "com.docker.compose.service"
_NUMBER, _ONE_OFF = "com.docker.compose.container-number", "com.docker.compose.oneoff"
_STATES = {"running": State.RUNNING, "paused": State.PAUSED}
_KNOWN_FOR_S = 0.5
_LOG_LINES = 20_000


@dataclass(frozen=True)
class Container:
    """One container of the project that plays a part. `name` is the member's name.

    `health` is what its own health check says: `healthy`, `unhealthy`, `starting`; empty if it has none.
    `ports` leads from a port in the container to the address it is published at now (`"127.0.0.1:18001"`).
    """

    id: str
    name: str
    service: str
    part: Part
    state: State
    health: str
    image: str
    ports: dict[int, str]


class Project:
    """A compose project, looked at afresh whenever it matters.

    A member is called by its service, or `service-2` where the service has several containers.
    """

    def __init__(self, client: docker.DockerClient, name: str, mapping: Mapping) -> None:
        self.name, self.mapping = name, mapping
        self._api = client.api
        self._host = _host_of(client)
        self._lock = threading.Lock()
        self._seen: tuple[float, tuple[Container, ...]] = (float("-inf"), ())
        self._last_ports: dict[str, dict[int, str]] = {}

    def containers(self, *, at_most_s_old: float = _KNOWN_FOR_S) -> tuple[Container, ...]:
        """Every container that plays a part, by name; seen lately, by whoever looked. Raises StackError."""
        with self._lock:
            at, seen = self._seen
        return seen if time.monotonic() - at < at_most_s_old else self.look()

    def look(self) -> tuple[Container, ...]:
        """Every container that plays a part, as the engine sees it now. Raises StackError."""
        wanted = {"label": [f"{_PROJECT}={self.name}", f"{_ONE_OFF}=False"]}
        with engine.plainly(f"The compose project '{self.name}' cannot be looked at"):
            listed = self._api.containers(all=True, filters=wanted)
        parts = [(each, self._part(each)) for each in listed]
        many = Counter(each["Labels"][_SERVICE] for each, part in parts if part)
        found = tuple(
            sorted(
                (self._container(each, part, many) for each, part in parts if part),
                key=lambda container: container.name,
            )
        )
        with self._lock:
            self._seen = (time.monotonic(), found)
        return found

    def find(self, name: str) -> Container | None:
        """The container of the member `name`, looked up now; None if there is none (any more)."""
        return next((each for each in self.look() if each.name == name), None)

    def need(self, name: str) -> Container:
        """Like `find`, but a missing container is a StackError."""
        container = self.find(name)
        if container is None:
            raise StackError(f"The compose project '{self.name}' has no container for {name} (any more)")
        return container

    def members(self, logs: Path) -> tuple[Member, ...]:
        """Every member; its log is a file in `logs`, once `write_log` was called for it."""
        return tuple(
            Member(each.name, each.part.component, self.address(each), each.part.kind, _log(logs, each))
            for each in self.containers()
        )

    def write_log(self, container: Container, logs: Path) -> None:
        """What the container has said so far, into its file. Raises StackError."""
        with engine.plainly(f"The log of {container.name} cannot be read"):
            said = self._api.logs(container.id, tail=_LOG_LINES, timestamps=True)
        logs.mkdir(parents=True, exist_ok=True)
        _log(logs, container).write_bytes(said)

    def settings(self, container: Container) -> dict[str, str]:
        """The container's own environment. Raises StackError."""
        with engine.plainly(f"{container.name} cannot be inspected"):
            listed = self._api.inspect_container(container.id)["Config"]["Env"] or []
        return dict(line.partition("=")[::2] for line in listed)

    def address(self, container: Container) -> str | None:
        """Where an observer reaches it, or will once it is up again; None if nowhere, or not known."""
        port = container.part.port
        return None if port is None else container.ports.get(port)

    def _part(self, listed: dict[str, Any]) -> Part | None:
        return self.mapping.part(listed["Labels"][_SERVICE], listed["Labels"])

    def _container(self, listed: dict[str, Any], part: Part, many: Counter[str]) -> Container:
        service = listed["Labels"][_SERVICE]
        name = service if many[service] == 1 else f"{service}-{listed['Labels'].get(_NUMBER, '1')}"
        ports = {
            int(port["PrivatePort"]): f"{self._host}:{port['PublicPort']}"
            for port in listed.get("Ports") or ()
            if port.get("PublicPort") and ":" not in port.get("IP", "")
        }
        return Container(
            id=listed["Id"],
            name=name,
            service=service,
            part=part,
            state=_STATES.get(listed["State"], State.DOWN),
            health=_health(listed.get("Status", "")),
            image=listed["Image"],
            ports=self._known_ports(listed["Id"], ports),
        )

    def _known_ports(self, id: str, ports: dict[int, str]) -> dict[int, str]:
        """What is published now; for a container that is down, what was last, or what was asked for."""
        if ports:
            self._last_ports[id] = ports
        elif id not in self._last_ports:
            with engine.plainly(f"The container {id[:12]} cannot be inspected"):
                asked = self._api.inspect_container(id)["HostConfig"]["PortBindings"] or {}
            self._last_ports[id] = {
                int(port.partition("/")[0]): f"{self._host}:{bindings[0]['HostPort']}"
                for port, bindings in asked.items()
                if bindings and int(bindings[0]["HostPort"] or 0)
            }
        return self._last_ports[id]


def _log(logs: Path, container: Container) -> Path:
    return logs / f"{container.name}.log"


def _health(status: str) -> str:
    """From the engine's "Up 5 seconds (healthy)" or "(health: starting)"."""
    found = re.search(r"\((?:health: )?(healthy|unhealthy|starting)\)", status)
    return found[1] if found else ""


def _host_of(client: docker.DockerClient) -> str:
    """The machine whose ports the engine publishes."""
    parts = urlsplit(str(client.api.base_url))
    local = parts.scheme.startswith("http+") or parts.hostname in (None, "localhost")
    return "127.0.0.1" if local else str(parts.hostname)
