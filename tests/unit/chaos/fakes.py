"""A stack that is a dictionary, and drivers that write down what they were told."""

from dataclasses import dataclass, field
from pathlib import Path

from chaos.targets import Arsenal
from compose.stack import Component, Endpoints, Link, Member, State


class FakeControl:
    """`MemberControl` without processes. `calls` are the changing ones, in order."""

    def __init__(self, names: list[str]) -> None:
        self.states = dict.fromkeys(names, State.RUNNING)
        self.lives = dict.fromkeys(names, 1)
        self.calls: list[str] = []
        self.broken: set[str] = set()

    def state(self, name: str) -> State:
        return self.states.get(name, State.GONE)

    def kill(self, name: str) -> None:
        self._change("kill", name, State.DOWN)

    def terminate(self, name: str) -> None:
        self._change("terminate", name, State.DOWN)

    def pause(self, name: str) -> None:
        self._change("pause", name, State.PAUSED)

    def resume(self, name: str) -> None:
        self._change("resume", name, State.RUNNING)

    def start(self, name: str) -> None:
        self._change("start", name, State.RUNNING)
        self.lives[name] += 1

    def life(self, name: str) -> str:
        return str(self.lives[name])

    def _change(self, verb: str, name: str, state: State) -> None:
        self.calls.append(f"{verb} {name}")
        if name in self.broken:
            raise OSError(f"{name} does not listen to anybody")
        self.states[name] = state


ENDPOINTS = Endpoints((), "mongodb://127.0.0.1:1/", "redis://127.0.0.1:4/0", "127.0.0.1:6")


@dataclass
class FakeStack:
    """Three Mongo members, Redis, Kafka, two APIs, workers; none of them listens anywhere."""

    home: Path
    kind: str = "fake"
    id: str = "fake-1"
    limits: tuple[str, ...] = ()
    now_primary: str | None = "mongo2"
    members: tuple[Member, ...] = (
        *(Member(f"mongo{n}", Component.MONGO) for n in (1, 2, 3)),
        Member("redis", Component.REDIS),
        Member("kafka", Component.KAFKA),
        *(Member(f"api{n}", Component.API) for n in (1, 2)),
        *(Member(f"worker-fanout{n}", Component.WORKER, kind="fanout") for n in (1, 2)),
        Member("worker-upkeep", Component.WORKER, kind="upkeep"),
        Member("store", Component.STORE),
    )
    links: tuple[Link, ...] = (
        *(Link(f"app->mongo{n}", "app", f"mongo{n}", f"127.0.0.1:{n}", "") for n in (1, 2, 3)),
        Link("api->redis", "api", "redis", "127.0.0.1:4", ""),
        Link("worker->redis", "worker", "redis", "127.0.0.1:5", ""),
    )
    endpoints: Endpoints = ENDPOINTS
    app_env: dict[str, str] = field(default_factory=dict)
    control: FakeControl = field(init=False)

    def __post_init__(self) -> None:
        self.control = FakeControl([member.name for member in self.members])

    async def up(self) -> None:
        raise AssertionError("a fake stack is always up")

    async def wait_ready(self, names: tuple[str, ...] | None = None, *, within_s: float = 60.0) -> None:
        return

    async def down(self) -> None:
        return

    def primary(self) -> str | None:
        return self.now_primary

    def versions(self) -> dict[str, str]:
        return {}


@dataclass
class FakeMembers:
    """The process driver's capabilities on a `FakeControl`."""

    control: FakeControl
    name: str = "fake"

    def state(self, name: str) -> State:
        return self.control.state(name)

    def life(self, name: str) -> str:
        return self.control.life(name)

    def kill(self, name: str) -> None:
        self.control.kill(name)

    def terminate(self, name: str) -> None:
        self.control.terminate(name)

    def pause(self, name: str) -> None:
        self.control.pause(name)

    def resume(self, name: str) -> None:
        self.control.resume(name)

    def start(self, name: str) -> None:
        self.control.start(name)


@dataclass
class FakeLinks:
    """The proxy's capabilities."""

    name: str = "fake proxy"
    cuts: set[str] = field(default_factory=set)
    on_links: dict[str, dict[str, str]] = field(default_factory=dict)

    def cut(self, link: str) -> None:
        self.cuts.add(link)

    def mend(self, link: str) -> None:
        self.cuts.discard(link)

    def is_cut(self, link: str) -> bool:
        return link in self.cuts

    def add_toxic(self, link: str, toxic: str, kind: str, stream: str, attributes: dict[str, int]) -> None:
        self.on_links.setdefault(link, {})[toxic] = f"{kind} {stream} {attributes}"

    def remove_toxic(self, link: str, toxic: str) -> None:
        self.on_links.get(link, {}).pop(toxic, None)

    def toxics(self, link: str) -> set[str]:
        return set(self.on_links.get(link, {}))


def fake_arsenal(home: Path) -> tuple[Arsenal, FakeStack, FakeLinks]:
    stack, links = FakeStack(home), FakeLinks()
    return Arsenal(stack=stack, members=FakeMembers(stack.control), links=links), stack, links
