"""A Docker engine in memory: containers with states, labels, ports and networks, as the SDK shows them.

It answers what `compose.docker` asks for, in the engine's own shapes and with its refusals (a frozen
container takes no signal; pausing twice is a 409), and passes the same contract tests as the real one.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any, cast

import docker
import docker.errors
import requests

_PORTS = itertools.count(32768)


@dataclass
class FakeContainer:
    project: str
    service: str
    labels: dict[str, str]
    number: int = 1
    image: str = "image:1"
    status: str = "running"
    health: str = "healthy"
    port: int | None = 6379
    public: int = 0
    fixed: int = 0
    exit_code: int = 0
    starts: int = 0
    one_off: bool = False
    comes_back: bool = False  # its restart policy starts it again, a moment after it died
    ignores_term: bool = False
    networks: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.id = f"{self.project}-{self.service}-{self.number}".ljust(64, "0")
        self.looks_until_back = 0
        self.networks = self.networks or {f"{self.project}_data": [self.service]}
        self.run()

    def run(self) -> None:
        self.starts += 1
        self.status, self.public = "running", self.fixed or next(_PORTS)

    def die(self, code: int) -> None:
        self.status, self.exit_code = "exited", code
        self.looks_until_back = 1

    def listed(self) -> dict[str, Any]:
        if self.comes_back and self.status == "exited":
            self.looks_until_back -= 1
            if self.looks_until_back < 0:
                self.run()
        alive = self.status in ("running", "paused")
        published = {"IP": "127.0.0.1", "PrivatePort": self.port, "PublicPort": self.public, "Type": "tcp"}
        return {
            "Id": self.id,
            "Image": self.image,
            "State": self.status,
            "Status": f"Up 3 seconds ({self.health})" if alive and self.health else self.status,
            "Ports": [published] if alive and self.port else [],
            "Labels": {
                **self.labels,
                "com.docker.compose.project": self.project,
                "com.docker.compose.service": self.service,
                "com.docker.compose.container-number": str(self.number),
                "com.docker.compose.oneoff": str(self.one_off),
            },
        }


class FakeApi:
    """The part of `docker.APIClient` that is used. With `gone` every call fails, as if it had ended."""

    base_url = "http+docker://localhost"

    def __init__(self, *containers: FakeContainer) -> None:
        self.held = list(containers)
        self.acts: list[str] = []
        self.gone = False

    def containers(self, *, all: bool, filters: dict[str, list[str]]) -> list[dict[str, Any]]:
        self._answer()
        assert all
        wanted = set(filters["label"])
        listed = (each.listed() for each in self.held)
        return [
            each for each in listed if wanted <= {f"{key}={value}" for key, value in each["Labels"].items()}
        ]

    def kill(self, id: str, signal: str) -> None:
        container = self._act("kill", id)
        if container.status == "paused":
            raise _refusal(409, f"Container {id} is paused. Unpause the container before stopping or killing")
        if container.status != "running":
            raise _refusal(409, f"Container {id} is not running")
        container.die(137)

    def stop(self, id: str, timeout: int) -> None:
        self._act("stop", id).die(137 if self._act("stop", id).ignores_term else 0)

    def start(self, id: str) -> None:
        self._act("start", id).run()

    def pause(self, id: str) -> None:
        container = self._act("pause", id)
        if container.status != "running":
            raise _refusal(409, f"Container {id} is {container.status}")
        container.status = "paused"

    def unpause(self, id: str) -> None:
        container = self._act("unpause", id)
        if container.status != "paused":
            raise _refusal(409, f"Container {id} is not paused")
        container.status = "running"

    def inspect_container(self, id: str) -> dict[str, Any]:
        self._answer()
        container = self._find(id)
        networks = {name: {"Aliases": [*aliases, id[:12]]} for name, aliases in container.networks.items()}
        fixed = str(container.fixed) if container.fixed else ""
        bindings = {f"{container.port}/tcp": [{"HostIp": "127.0.0.1", "HostPort": fixed}]}
        return {
            "HostConfig": {"PortBindings": bindings if container.port else None},
            "Config": {"Env": ["FEED_STRATEGY=hybrid", "PATH=/bin"]},
            "State": {"ExitCode": container.exit_code, "StartedAt": f"start {container.starts}"},
            "NetworkSettings": {"Networks": networks},
        }

    def logs(self, id: str, tail: int, timestamps: bool) -> bytes:
        self._answer()
        return f"{self._find(id).service} said this\n".encode()

    def disconnect_container_from_network(self, id: str, network: str) -> None:
        del self._act("disconnect", id).networks[network]

    def connect_container_to_network(self, id: str, network: str, aliases: list[str]) -> None:
        self._act("connect", id).networks[network] = aliases

    def _act(self, what: str, id: str) -> FakeContainer:
        self._answer()
        self.acts.append(what)
        return self._find(id)

    def _find(self, id: str) -> FakeContainer:
        for container in self.held:
            if container.id == id:
                return container
        raise docker.errors.NotFound("gone", explanation=f"No such container: {id}")

    def _answer(self) -> None:
        if self.gone:
            raise requests.ConnectionError("('Connection aborted.', RemoteDisconnected('closed'))")


class FakeClient:
    def __init__(self, api: FakeApi) -> None:
        self.api = api


def client_of(api: FakeApi) -> docker.DockerClient:
    return cast(docker.DockerClient, FakeClient(api))


def redis(project: str = "p", service: str = "redis", **more: Any) -> FakeContainer:
    return FakeContainer(project, service, {"feedstorm.component": "redis", "feedstorm.port": "6379"}, **more)


def _refusal(status: int, explanation: str) -> docker.errors.APIError:
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError(explanation, response=response, explanation=explanation)
