"""What the stack will consist of: every member with its command line, every link, every address.

Pure: it starts nothing and opens nothing.
"""

import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from compose.embedded.parts import Parts
from compose.embedded.ports import LOOPBACK
from compose.embedded.state import MemberRecord, StackRecord
from compose.stack import Component, Endpoints, Link, StackOptions

MONGO_NAMES = ("mongo1", "mongo2", "mongo3")
SET_NAME = "rs0"
COMPONENTS_WITH_VERSIONS = ("mongo", "redis", "kafka", "proxy")
WORKERS = (
    ("worker-fanout1", "fanout"),
    ("worker-fanout2", "fanout"),
    ("worker-likes1", "likes"),
    ("worker-likes2", "likes"),
    ("worker-upkeep", "upkeep"),
)
HEARTBEATS_PER_ELECTION = 6
SLOWEST_HEARTBEAT_S = 0.5

COMMON_LIMITS = (
    "Everything runs on one machine and shares its cores with the load generator, so latency under load "
    "contains the competition for them.",
    "Redis is one server without replicas or persistence: killing it loses what it holds.",
)
EMBEDDED_MONGO_LIMITS = (
    "Mongo is three replica-set members over one SecantusDB store, not MongoDB: discovery, elections and "
    "drivers' reactions are real; replication lag, rollback, diverging copies and change streams are not.",
    "Mongo's speed here is SecantusDB's (about 1,000 writes/s), and says nothing about MongoDB's.",
)
REAL_MONGO_LIMITS = (
    "The mongod members reach each other by the names that clients use, through the proxy: cutting the link "
    "to one also cuts it off from the other members.",
)
TANSU_LIMITS = (
    "Kafka is the Tansu broker with memory storage: killing it loses every record, so drills on this stack "
    "pause it or cut its link instead.",
)


@dataclass(frozen=True)
class _LinkSpec:
    name: str
    client: str
    server: str


LINKS = (
    *(_LinkSpec(f"app->{name}", "app", name) for name in MONGO_NAMES),
    _LinkSpec("api->redis", "api", "redis"),
    _LinkSpec("worker->redis", "worker", "redis"),
    _LinkSpec("app->kafka", "app", "kafka"),
)


def ports_needed(options: StackOptions) -> int:
    apps = 0 if options.services_only else options.api_instances + len(WORKERS)
    proxied = 1 + len(LINKS) if options.through_proxy else 0
    return 1 + len(MONGO_NAMES) + 2 + proxied + apps  # the store, the Mongo members, Redis and Kafka


def plan(home: Path, cwd: Path, options: StackOptions, parts: Parts, ports: list[int]) -> StackRecord:
    """The record of a stack that nobody has started yet.

    `ports` has `ports_needed(options)` of them; `cwd` is where the app's modules are looked for.
    """
    return _Planner(home, cwd, options, parts, iter(ports)).record()


class _Planner:
    def __init__(
        self, home: Path, cwd: Path, options: StackOptions, parts: Parts, ports: Iterator[int]
    ) -> None:
        self._home, self._cwd, self._options, self._parts, self._ports = home, cwd, options, parts, ports
        self._server_ports = {name: next(ports) for name in (*MONGO_NAMES, "redis", "kafka")}
        self._links = self._make_links()
        listens = {link.name: link.listen for link in self._links}
        # What clients of the app call a server: the proxy's address where there is one.
        self._seen = {spec.name: listens.get(spec.name, self._direct(spec.server)) for spec in LINKS}
        self._mongo_addresses = tuple(self._seen[f"app->{name}"] for name in MONGO_NAMES)
        self._mongo_uri = f"mongodb://{','.join(self._mongo_addresses)}/?replicaSet={SET_NAME}"

    def record(self) -> StackRecord:
        proxy = (self._proxy(),) if self._options.through_proxy else ()
        apps = () if self._options.services_only else (*self._apis(), *self._workers())
        members = (*self._mongo(), self._redis(), self._kafka(), *proxy, *apps)
        endpoints = Endpoints(
            api=tuple(f"http://{member.address}" for member in members if member.component is Component.API),
            mongo_uri=self._mongo_uri,
            redis_url=f"redis://{self._direct('redis')}/0",
            kafka_bootstrap=self._direct("kafka"),
            toxiproxy_url=f"http://{proxy[0].address}" if proxy else None,
        )
        mongo_limits = REAL_MONGO_LIMITS if self._parts.mongo.path else EMBEDDED_MONGO_LIMITS
        return StackRecord(
            id=uuid.uuid4().hex,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            options=self._options,
            members=members,
            links=self._links,
            endpoints=endpoints,
            limits=(*mongo_limits, *TANSU_LIMITS, *COMMON_LIMITS),
            versions={name: getattr(self._parts, name).version for name in COMPONENTS_WITH_VERSIONS},
            app_env=self._app_env("api->redis"),
            cwd=str(self._cwd),
        )

    def _make_links(self) -> tuple[Link, ...]:
        if not self._options.through_proxy:
            return ()
        return tuple(
            Link(
                spec.name,
                spec.client,
                spec.server,
                f"{LOOPBACK}:{next(self._ports)}",
                self._direct(spec.server),
            )
            for spec in LINKS
        )

    def _direct(self, server: str) -> str:
        return f"{LOOPBACK}:{self._server_ports[server]}"

    def _record(
        self,
        name: str,
        component: Component,
        argv: list[str],
        port: int,
        *,
        kind: str | None = None,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> MemberRecord:
        return MemberRecord(
            name,
            component,
            tuple(argv),
            str(cwd or self._home / "data"),
            str(self._home / "logs" / f"{name}.log"),
            port,
            env or {},
            kind,
        )

    def _mongo(self) -> Iterator[MemberRecord]:
        if self._parts.mongo.path:
            for name in MONGO_NAMES:
                yield self._mongod(self._parts.mongo.path, name)
            return
        store_port = next(self._ports)
        store = [sys.executable, "-m", "compose.embedded.mongo.store", "--port", str(store_port)]
        store += ["--dir", str(self._home / "data" / "store")]
        env = {"MALLOC_ARENA_MAX": "2"}  # or glibc keeps memory apart for each of its many threads
        yield self._record("store", Component.STORE, store, store_port, env=env, cwd=self._cwd)
        election_s = self._options.election_timeout_s
        heartbeat_s = min(SLOWEST_HEARTBEAT_S, election_s / HEARTBEATS_PER_ELECTION)
        for name in MONGO_NAMES:
            argv = [sys.executable, "-m", "compose.embedded.mongo", "--listen", self._direct(name)]
            argv += ["--advertise", self._seen[f"app->{name}"], "--members", ",".join(self._mongo_addresses)]
            argv += ["--store", f"{LOOPBACK}:{store_port}"]
            argv += ["--election-timeout", f"{election_s:g}", "--heartbeat", f"{heartbeat_s:g}"]
            yield self._record(name, Component.MONGO, argv, self._server_ports[name], cwd=self._cwd)

    def _mongod(self, path: str, name: str) -> MemberRecord:
        port = self._server_ports[name]
        argv = [path, "--replSet", SET_NAME, "--bind_ip", LOOPBACK, "--port", str(port)]
        argv += ["--dbpath", str(self._home / "data" / name), "--wiredTigerCacheSizeGB", "0.25"]
        return self._record(name, Component.MONGO, argv, port)

    def _redis(self) -> MemberRecord:
        port = self._server_ports["redis"]
        argv = [str(self._parts.redis.path), "--bind", LOOPBACK, "--port", str(port)]
        argv += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
        return self._record("redis", Component.REDIS, argv, port)

    def _kafka(self) -> MemberRecord:
        port = self._server_ports["kafka"]
        argv = [str(self._parts.kafka.path), "broker", "--listener-url", f"tcp://{self._direct('kafka')}"]
        argv += ["--advertised-listener-url", f"tcp://{self._seen['app->kafka']}"]
        argv += ["--storage-engine", "memory://tansu/"]
        return self._record("kafka", Component.KAFKA, argv, port)

    def _proxy(self) -> MemberRecord:
        port = next(self._ports)
        if self._parts.proxy.path:
            argv = [
                self._parts.proxy.path,
                "-host",
                LOOPBACK,
                "-port",
                str(port),
                "-proxy-metrics",
                "-config",
            ]
        else:
            argv = [sys.executable, "-m", "compose.embedded.proxy", "--port", str(port), "--config"]
        argv.append(str(self._home / "data" / "proxies.json"))
        return self._record("proxy", Component.PROXY, argv, port, cwd=self._cwd)

    def _apis(self) -> Iterator[MemberRecord]:
        for number in range(1, self._options.api_instances + 1):
            yield self._app(f"api{number}", Component.API, ["api"], None, "api->redis")

    def _workers(self) -> Iterator[MemberRecord]:
        for name, kind in WORKERS:
            yield self._app(name, Component.WORKER, ["worker", kind], kind, "worker->redis")

    def _app(
        self, name: str, component: Component, verb: list[str], kind: str | None, redis_link: str
    ) -> MemberRecord:
        port = next(self._ports)
        argv = [
            sys.executable,
            "-m",
            self._options.app_module,
            *verb,
            "--host",
            LOOPBACK,
            "--port",
            str(port),
        ]
        env = self._app_env(redis_link)
        return self._record(name, component, argv, port, kind=kind, env=env, cwd=self._cwd)

    def _app_env(self, redis_link: str) -> dict[str, str]:
        return {
            "PYTHONUNBUFFERED": "1",
            "FEED_MONGO_URI": self._mongo_uri,
            "FEED_MONGO_DATABASE": Endpoints.mongo_database,
            "FEED_REDIS_URL": f"redis://{self._seen[redis_link]}/0",
            "FEED_KAFKA_BOOTSTRAP": self._seen["app->kafka"],
            **self._options.app_env,
        }
