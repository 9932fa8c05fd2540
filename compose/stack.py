"""What a stack is, whatever it runs on: members, links, endpoints, and the verbs up and down.

Two stacks implement this interface: `compose.embedded` (local processes, the default) and
`compose.docker_stack` (a docker compose project). Drills, seeding and audits know only this file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable


class StackError(Exception):
    """The stack could not do what was asked. The message is one plain sentence for a user."""


class Component(StrEnum):
    """A named part of a stack. Several members can play the same part."""

    MONGO = "mongo"
    REDIS = "redis"
    KAFKA = "kafka"
    API = "api"
    WORKER = "worker"
    PROXY = "proxy"
    STORE = "store"  # what the embedded Mongo members keep their data in; never a fault target


class State(StrEnum):
    """What a member is doing now, as its process or container shows it (not whether it answers)."""

    RUNNING = "running"
    PAUSED = "paused"
    DOWN = "down"
    GONE = "gone"  # the stack does not know this member any more


@dataclass(frozen=True)
class Member:
    """One process or container of a stack.

    `address` is how an observer on this machine reaches it directly, never through the proxy
    (`"127.0.0.1:21007"`); None for members that listen nowhere. `kind` tells members of one
    component apart where that matters (`worker` members: `fanout`, `likes`, ...).
    """

    name: str
    component: Component
    address: str | None = None
    kind: str | None = None
    log: Path | None = None

    @property
    def is_fault_target(self) -> bool:
        return self.component not in (Component.PROXY, Component.STORE)


@dataclass(frozen=True)
class Link:
    """A client->server connection path that network faults can act on.

    `name` is what the proxy calls it (`"app->mongo1"`, `"api->redis"`); `server` is a member's name.
    """

    name: str
    client: str
    server: str
    listen: str
    upstream: str


@dataclass(frozen=True)
class Endpoints:
    """How an observer on this machine reaches the stack. Nothing here goes through the proxy,
    except `mongo_uri`: a replica set's members are known by the names that its clients use."""

    api: tuple[str, ...]
    mongo_uri: str
    redis_url: str
    kafka_bootstrap: str
    toxiproxy_url: str | None = None
    mongo_database: str = "feedstorm"


@dataclass(frozen=True)
class StackOptions:
    """What can be chosen when a stack is brought up.

    `election_timeout_s` is how long the replica set goes without a primary before it elects one.
    `app_env` is added to the environment of the API and the workers (`FEED_*` settings).
    `app_module` names the module that is run in place of `reference_app`: variants that break a
    promise on purpose are started this way. `services_only` leaves the application out altogether.
    `through_proxy` can be switched off to measure what the proxy costs; then there are no links.
    """

    election_timeout_s: float = 10.0
    api_instances: int = 2
    app_env: dict[str, str] = field(default_factory=dict)
    app_module: str = "reference_app"
    services_only: bool = False
    through_proxy: bool = True


def worker_metrics(members: Iterable[Member]) -> list[str]:
    """The `/metrics` of every worker among these members that an observer can reach."""
    return [
        f"http://{member.address}/metrics"
        for member in members
        if member.component is Component.WORKER and member.address
    ]


class MemberControl(Protocol):
    """Acts on one stack's members. Every call is bounded, blocking, and safe to repeat."""

    def state(self, name: str) -> State: ...

    def life(self, name: str) -> str:
        """Another one after every start of the member; "" if it never ran. Raises StackError."""

    def kill(self, name: str) -> None:
        """SIGKILL: no clean-up, connections reset. Returns once the member is down."""

    def terminate(self, name: str) -> None:
        """SIGTERM: a clean shutdown. Returns once the member is down, or raises StackError."""

    def pause(self, name: str) -> None:
        """SIGSTOP or a cgroup freeze: connections stay open, nothing answers."""

    def resume(self, name: str) -> None: ...

    def start(self, name: str) -> None:
        """Start a member that is down, as it was started first. Does not wait until it is ready."""


class Stack(Protocol):
    """A stack that is up, or can be brought up. One directory on disk describes it to later commands."""

    @property
    def kind(self) -> str:
        """`embedded` or `docker`."""

    @property
    def id(self) -> str:
        """Another one after every `up`, which begins without data. Ports and names do not tell that."""

    @property
    def limits(self) -> tuple[str, ...]:
        """What this stack cannot show, one sentence each, for every report."""

    @property
    def members(self) -> tuple[Member, ...]: ...

    @property
    def links(self) -> tuple[Link, ...]: ...

    @property
    def endpoints(self) -> Endpoints: ...

    @property
    def app_env(self) -> Mapping[str, str]:
        """The app's settings, as the API was started with them."""

    @property
    def control(self) -> MemberControl: ...

    async def up(self) -> None:
        """Start every member and wait until the stack is ready. Raises StackError."""

    async def wait_ready(self, names: tuple[str, ...] | None = None, *, within_s: float = 60.0) -> None:
        """Wait until the named members (default: all) do their work, not merely run."""

    async def down(self) -> None:
        """Stop every member, also paused ones, and forget the stack. Safe to repeat."""

    def primary(self) -> str | None:
        """The Mongo member that says it is primary when asked directly; None while there is none."""

    def versions(self) -> dict[str, str]:
        """What each component really is, e.g. {"mongo": "SecantusDB 0.7.0b3 (embedded)"}."""


@runtime_checkable
class WritesLogs(Protocol):
    """A stack whose members do not log into files by themselves."""

    def write_logs(self) -> None:
        """Put what every member has said so far where its `Member.log` says. Raises StackError."""
