"""The stack on containers: a docker compose project, ours or somebody else's.

`<home>/docker.json` tells later commands which project it is. Everything else (members, ports, links)
is read from the running project whenever it is asked for.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import docker

from compose import ready
from compose.docker import cli, endpoints, engine, links, mapping, record
from compose.docker.control import DockerControl
from compose.docker.overrides import write_overrides
from compose.docker.primary import PrimaryFinder
from compose.docker.project import Project
from compose.docker.record import Record
from compose.stack import Component, Endpoints, Link, Member, StackError, StackOptions, State
from compose.waiting import NeverHappenedError, wait_until

_UP_WITHIN_S = 1200.0  # the first time, images are pulled and built
_HEALTHY_WITHIN_S = 180
_DOWN_WITHIN_S = 120.0
_LOGS_WITHIN_S = 30.0

_LIMITS = (
    "All containers share one machine: its disk, its clock and its kernel fail together, or not at all.",
    "One Kafka broker: a kill takes the log away for a while, and never elects another leader.",
)


class DockerStack:
    """`Stack` over a docker compose project."""

    kind = "docker"
    limits = _LIMITS

    def __init__(self, home: Path, told: Record, client: docker.DockerClient) -> None:
        self._home, self._record = home, told
        self._project = Project(
            client, told.project, mapping.load(Path(told.mapping) if told.mapping else None)
        )
        self._finder = PrimaryFinder(self._project)
        self._links: tuple[Link, ...] = ()
        self.control = DockerControl(client, self._project)

    @classmethod
    def create(
        cls,
        home: Path,
        options: StackOptions,
        *,
        project: str | None = None,
        files: tuple[Path, ...] = (cli.COMPOSE_FILE,),
        allowed_hosts: tuple[str, ...] = (),
    ) -> "DockerStack":
        """A stack of ours, not up yet. Its project is called as compose would call it.

        Raises:
            StackError: no engine, no permission, not on this machine.
        """
        name = project or os.environ.get("COMPOSE_PROJECT_NAME") or "feedstorm"
        told = Record(name, True, tuple(str(file.resolve()) for file in files), None, allowed_hosts, options)
        return cls(home, told, engine.connect(allowed_hosts))

    @classmethod
    def adopt(
        cls,
        home: Path,
        project: str,
        *,
        mapping_file: Path | None = None,
        allowed_hosts: tuple[str, ...] = (),
    ) -> "DockerStack":
        """Somebody else's running project, remembered in `home` for later commands. Never taken down by us.

        Raises:
            StackError: no engine, or no container of that project plays a part.
        """
        where = str(mapping_file.resolve()) if mapping_file else None
        told = Record(project, False, (), where, allowed_hosts)
        stack = cls(home, told, engine.connect(allowed_hosts))
        if not stack._project.look():
            raise StackError(
                f"No container of the compose project '{project}' plays a part: start it, "
                f"and label its services `{mapping.COMPONENT}` or name them in a mapping file"
            )
        record.write(home, told)
        return stack

    @classmethod
    def attach(cls, home: Path) -> "DockerStack | None":
        """The stack that `home` remembers, if any container of it is left. Raises StackError."""
        told = record.read(home)
        if told is None:
            return None
        stack = cls(home, told, engine.connect(told.allowed_hosts))
        return stack if stack._project.look() else None

    @property
    def id(self) -> str:
        """Another one after every `up`, which makes the containers, and their data, anew."""
        mongo = (each for each in self._project.look() if each.part.component == Component.MONGO)
        return " ".join(sorted(each.id[:12] for each in mongo))

    @property
    def members(self) -> tuple[Member, ...]:
        return self._project.members(self._logs)

    @property
    def links(self) -> tuple[Link, ...]:
        """What Toxiproxy holds; while it does not answer, what it held last."""
        try:
            self._links = links.read(self._project)
        except StackError:
            if not self._links:
                raise
        return self._links

    @property
    def endpoints(self) -> Endpoints:
        """As they are now: ports can move, and `mongo_uri` leads to whoever is primary."""
        return endpoints.endpoints(self._project, self.primary())

    @property
    def app_env(self) -> dict[str, str]:
        """The app's settings as its containers have them, for whoever runs its commands on this stack."""
        app = next((each for each in self._project.look() if each.part.component == Component.API), None)
        settings = self._project.settings(app) if app else {}
        return {name: value for name, value in settings.items() if name.startswith("FEED_")}

    async def up(self) -> None:
        if not self._record.ours:
            raise StackError(f"The compose project '{self._record.project}' is not ours to start")
        if await asyncio.to_thread(self._project.look):
            raise StackError(
                f"The compose project '{self._record.project}' is there already and is not touched; "
                f"use it with --project {self._record.project}, or remove it with docker compose down"
            )
        record.write(self._home, self._record)
        options = self._record.options
        files = (
            *map(Path, self._record.files),
            *write_overrides(options, self._home / "docker-override.yml"),
        )
        up = ("up", "--detach", "--build", "--wait", "--wait-timeout", str(_HEALTHY_WITHIN_S))
        argv = cli.command(self._record.project, files, *up, *_scale(options.api_instances))
        env = {"ELECTION_TIMEOUT_S": f"{options.election_timeout_s:g}"}
        try:
            await cli.run(argv, self._log, "Starting the docker stack", env=env, within_s=_UP_WITHIN_S)
            await self.wait_ready(within_s=_HEALTHY_WITHIN_S)
        except StackError as error:
            raise StackError(f"{error} and {await self._keep_all_logs()}") from None

    async def wait_ready(self, names: tuple[str, ...] | None = None, *, within_s: float = 60.0) -> None:
        """Until each member runs, is healthy by its own health check, and does its work.

        Raises:
            StackError: names the members that are not, and what each said last.
        """
        chosen = [each.name for each in self._project.look()] if names is None else list(names)
        waits = [self._wait_for(name, within_s) for name in chosen]
        if names is None and any(each.component == Component.MONGO for each in self.members):
            waits.append(self._wait_for_primary(within_s))
        found = await asyncio.gather(*waits, return_exceptions=True)
        late = [error for error in found if isinstance(error, BaseException)]
        for error in late:
            if not isinstance(error, NeverHappenedError):
                raise error
        if late:
            told = "; ".join(str(error) for error in late)
            raise StackError(f"{told}. See `docker compose -p {self._record.project} logs`")

    async def down(self) -> None:
        """Stop and forget a project that we started, with its data; of any other, only forget it."""
        if self._record.ours and record.path(self._home).exists():
            for container in await asyncio.to_thread(self._project.look):
                if container.state == State.PAUSED:
                    await asyncio.to_thread(self.control.resume, container.name)
            argv = cli.command(self._record.project, tuple(map(Path, self._record.files)), "--profile", "*")
            argv += ["down", "--volumes", "--remove-orphans", "--timeout", "5"]
            await cli.run(argv, self._log, "Stopping the docker stack", within_s=_DOWN_WITHIN_S)
        record.forget(self._home)

    def primary(self) -> str | None:
        return self._finder.find()

    def versions(self) -> dict[str, str]:
        """What each component says it is, and the image that it runs."""
        return endpoints.versions(self._project)

    def write_logs(self) -> None:
        """Put what every member has said into the file that `Member.log` names. Raises StackError."""
        for container in self._project.look():
            self._project.write_log(container, self._logs)

    async def _keep_all_logs(self) -> Path:
        """What every container has said, also those that play no part, in one file that outlives them."""
        kept = self._logs / "containers.log"
        kept.unlink(missing_ok=True)
        argv = cli.command(self._record.project, (), "logs", "--no-color", "--tail", "2000")
        with suppress(StackError):
            await cli.run(argv, kept, "Reading the logs", within_s=_LOGS_WITHIN_S)
        return kept

    async def _wait_for_primary(self, within_s: float) -> None:
        check: Callable[[], str | Awaitable[str | None] | None] = partial(asyncio.to_thread, self.primary)
        await wait_until(check, "one Mongo member being primary", within_s=within_s, every_s=0.2)

    async def _wait_for(self, name: str, within_s: float) -> None:
        check: Callable[[], bool | Awaitable[bool]] = partial(asyncio.to_thread, self._is_ready, name)
        await wait_until(check, f"{name} doing its work", within_s=within_s, every_s=0.2)

    def _is_ready(self, name: str) -> bool:
        container = self._project.need(name)
        if container.state != State.RUNNING:
            raise StackError(f"it is {container.state}")
        if container.health not in ("", "healthy"):
            raise StackError(f"its health check says {container.health}")
        address = self._project.address(container)
        return address is None or ready.probe(container.part.component, address)

    @property
    def _logs(self) -> Path:
        return self._home / "logs"

    @property
    def _log(self) -> Path:
        return self._logs / "compose.log"


def _scale(api_instances: int) -> tuple[str, ...]:
    if api_instances not in (1, 2):
        raise StackError(f"The docker stack runs one or two instances of the API, not {api_instances}")
    return ("--scale", "api2=0") if api_instances == 1 else ()
