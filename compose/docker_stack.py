"""The stack on containers: a docker compose project, ours or somebody else's.

`<home>/docker.json` tells later commands which project it is. Everything else (members, ports, links)
is read from the running project whenever it is asked for.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path

import docker
import msgspec
import redis

from compose.docker import cli, engine, links, mapping, ready
from compose.docker.control import DockerControl
from compose.docker.overrides import write_overrides
from compose.docker.project import Container, Project
from compose.embedded.mongo.client import ask_once
from compose.stack import Component, Endpoints, Link, Member, StackError, StackOptions, State
from compose.waiting import NeverHappenedError, wait_until

PROJECT = "feedstorm"
_UP_WITHIN_S = 1200.0  # the first time, images are pulled and built
_HEALTHY_WITHIN_S = 180
_DOWN_WITHIN_S = 120.0
_HELLO_S = 0.5
_NOWHERE = "127.0.0.1:0"

_LIMITS = (
    "All containers share one machine: its disk, its clock and its kernel fail together, or not at all.",
    "One Kafka broker: a kill takes the log away for a while, and never elects another leader.",
)


class Record(msgspec.Struct, frozen=True):
    """What `<home>/docker.json` holds. `ours`: we started it, so we may take it down."""

    project: str
    ours: bool
    files: tuple[str, ...] = ()
    mapping: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    options: StackOptions = StackOptions()


class DockerStack:
    """`Stack` over a docker compose project."""

    kind = "docker"
    limits = _LIMITS

    def __init__(self, home: Path, record: Record, client: docker.DockerClient) -> None:
        self._home, self._record = home, record
        self._project = Project(client, record.project, mapping.load(_path(record.mapping)))
        self._links: tuple[Link, ...] = ()
        self._mongo: tuple[Member, ...] = ()
        self._mongo_seen_at = float("-inf")
        self.control = DockerControl(client, self._project)

    @classmethod
    def create(
        cls,
        home: Path,
        options: StackOptions,
        *,
        project: str = PROJECT,
        files: tuple[Path, ...] = (cli.COMPOSE_FILE,),
        allowed_hosts: tuple[str, ...] = (),
    ) -> "DockerStack":
        """A stack of ours, not up yet. Raises StackError: no engine, no permission, not on this machine."""
        record = Record(project, True, tuple(map(str, files)), None, allowed_hosts, options)
        return cls(home, record, engine.connect(allowed_hosts))

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
        record = Record(project, False, (), where, allowed_hosts)
        stack = cls(home, record, engine.connect(allowed_hosts))
        if not stack._project.look():
            raise StackError(
                f"No container of the compose project '{project}' plays a part: start it, "
                f"and label its services `{mapping.COMPONENT}` or name them in a mapping file"
            )
        stack._remember()
        return stack

    @classmethod
    def attach(cls, home: Path) -> "DockerStack | None":
        """The stack that `home` remembers, if any container of it is left. Raises StackError."""
        try:
            record = msgspec.json.decode(_file(home).read_bytes(), type=Record)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise StackError(f"{_file(home)} does not describe a docker stack: {error}") from None
        stack = cls(home, record, engine.connect(record.allowed_hosts))
        return stack if stack._project.look() else None

    @property
    def members(self) -> tuple[Member, ...]:
        return self._project.members()

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
        """Read afresh: ports can move, and `mongo_uri` leads to whoever is primary now, directly, because
        the members' own names mean nothing on this machine. Raises StackError: a component is missing."""
        given = self._project.mapping.endpoints
        return Endpoints(
            api=tuple(f"http://{address}" for address in self._addresses(Component.API)),
            mongo_uri=given.mongo_uri or f"mongodb://{self._writable_mongo()}/?directConnection=true",
            redis_url=given.redis_url or f"redis://{self._first(Component.REDIS)}/0",
            kafka_bootstrap=given.kafka_bootstrap or self._first(Component.KAFKA),
            toxiproxy_url=links.toxiproxy_url(self._project),
            mongo_database=self._project.mapping.mongo_database,
        )

    async def up(self) -> None:
        if not self._record.ours:
            raise StackError(f"The compose project '{self._record.project}' is not ours to start")
        if await asyncio.to_thread(self._project.look):
            raise StackError(
                f"The compose project '{self._record.project}' is there already and is not touched; "
                f"use it with --project {self._record.project}, or remove it with docker compose down"
            )
        self._remember()
        options = self._record.options
        files = (
            *map(Path, self._record.files),
            *write_overrides(options, self._home / "docker-override.yml"),
        )
        up = ("up", "--detach", "--build", "--wait", "--wait-timeout", str(_HEALTHY_WITHIN_S))
        argv = cli.command(self._record.project, files, *up, *_scale(options.api_instances))
        env = {"ELECTION_TIMEOUT_S": f"{options.election_timeout_s:g}"}
        await cli.run(argv, self._log, "Starting the docker stack", env=env, within_s=_UP_WITHIN_S)
        await self.wait_ready()

    async def wait_ready(self, names: tuple[str, ...] | None = None, *, within_s: float = 60.0) -> None:
        """Until each member runs, is healthy by its own health check, and does its work.

        Raises:
            StackError: names the members that are not, and what each said last.
        """
        chosen = [each.name for each in self._project.look()] if names is None else list(names)
        waits = (self._wait_for(name, within_s) for name in chosen)
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
        if self._record.ours and _file(self._home).exists():
            for container in await asyncio.to_thread(self._project.look):
                if container.state == State.PAUSED:
                    await asyncio.to_thread(self.control.resume, container.name)
            argv = cli.command(self._record.project, tuple(map(Path, self._record.files)), "--profile", "*")
            argv += ["down", "--volumes", "--remove-orphans", "--timeout", "5"]
            await cli.run(argv, self._log, "Stopping the docker stack", within_s=_DOWN_WITHIN_S)
        _file(self._home).unlink(missing_ok=True)

    def primary(self) -> str | None:
        """Asks each Mongo member at its published port; addresses are read anew at most once a second."""
        return self._ask_for_primary() or (self._ask_for_primary() if self._look_for_mongo() else None)

    def versions(self) -> dict[str, str]:
        """What each component says it is, and the image that it runs."""
        return dict(_versions(self._project.look(), self._project))

    def _ask_for_primary(self) -> str | None:
        for member in self._mongo:
            try:
                if member.address and ready.hello(member.address, _HELLO_S).get("isWritablePrimary"):
                    return member.name
            except OSError:
                continue
        return None

    def _look_for_mongo(self) -> bool:
        """Whether the addresses were read anew."""
        if time.monotonic() - self._mongo_seen_at < 1.0:
            return False
        self._mongo_seen_at = time.monotonic()
        before, self._mongo = self._mongo, self._playing(Component.MONGO)
        return self._mongo != before

    def _playing(self, component: Component) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.component == component)

    def _addresses(self, component: Component) -> list[str]:
        return [member.address for member in self._playing(component) if member.address]

    def _first(self, component: Component) -> str:
        """The first address of the component; one that refuses, while it is down and its port not known."""
        if not self._playing(component):
            raise StackError(f"The compose project '{self._record.project}' has no {component}")
        return (self._addresses(component) or [_NOWHERE])[0]

    def _writable_mongo(self) -> str:
        primary = self.primary()
        published = {
            member.name: member.address for member in self._playing(Component.MONGO) if member.address
        }
        return published.get(primary or "") or self._first(Component.MONGO)

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
        return address is None or ready.does_its_work(container.part.component, address)

    def _remember(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        new = _file(self._home).with_suffix(".new")
        new.write_bytes(msgspec.json.encode(self._record))
        new.replace(_file(self._home))

    @property
    def _log(self) -> Path:
        return self._home / "logs" / "compose.log"


def _file(home: Path) -> Path:
    return home / "docker.json"


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _scale(api_instances: int) -> tuple[str, ...]:
    if api_instances not in (1, 2):
        raise StackError(f"The docker stack runs one or two instances of the API, not {api_instances}")
    return ("--scale", "api2=0") if api_instances == 1 else ()


def _versions(containers: Iterable[Container], project: Project) -> Iterable[tuple[str, str]]:
    for container in containers:
        address = project.address(container)
        said = _said(container.part.component, address) if address else ""
        yield str(container.part.component), f"{said} ({container.image})" if said else container.image


def _said(component: Component, address: str) -> str:
    """The version that a server gives as its own; empty where it does not, or not now."""
    try:
        if component == Component.MONGO:
            return str(ask_once(address, {"buildInfo": 1}, within_s=1.0).get("version", ""))
        if component == Component.REDIS:
            with redis.Redis.from_url(
                f"redis://{address}", socket_timeout=1, socket_connect_timeout=1
            ) as client:
                return str(client.info("server")["redis_version"])
    except (OSError, redis.RedisError):
        pass
    return ""
