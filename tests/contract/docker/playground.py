"""Members to act on, for the contract of MemberControl: on the fake engine, and on the real one."""

import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from compose.docker import cli, engine
from compose.docker.control import DockerControl
from compose.docker.mapping import Mapping
from compose.docker.project import Project
from compose.ready import probe
from compose.stack import Component, MemberControl, StackError
from tests.unit.docker.fake_engine import FakeApi, client_of, redis

POLICIES = Path(__file__).parent / "policies.yml"


@dataclass(frozen=True)
class Playground:
    """A control and the members that a test may break. `answers` asks a member in its own protocol."""

    control: MemberControl
    names: tuple[str, ...]
    answers: Callable[[str], bool]


def on_the_fake_engine() -> Iterator[Playground]:
    names = ("always", "never", "on-failure", "unless-stopped")
    api = FakeApi(*(redis("p", name) for name in names))
    project = Project(client_of(api), "p", Mapping())
    states = {container.service: container for container in api.held}
    yield Playground(
        DockerControl(client_of(api), project), names, lambda name: states[name].status == "running"
    )


def on_the_engine() -> Iterator[Playground]:
    """A compose project of its own, with one server under every restart policy."""
    name = f"feedstorm-test-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    compose(name, "up", "--detach", "--wait", "--wait-timeout", "60")
    try:
        client = engine.connect()
        project = Project(client, name, Mapping())
        yield Playground(
            DockerControl(client, project), tuple(each.name for each in project.look()), _asks(project)
        )
        client.close()
    finally:
        compose(name, "down", "--volumes", "--timeout", "1")


def compose(project: str, *arguments: str) -> None:
    argv = cli.command(project, (POLICIES,), *arguments)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def something_is_missing(file: Path) -> str:
    """Why there is no engine, or no image, to test this compose file on; empty if all is there.

    Images that are not here yet are pulled, but for the app's own, which are built.
    """
    try:
        engine.connect().close()
    except StackError as error:
        return str(error)
    listed = docker(*cli.command("feedstorm-test", (file,), "config", "--images")[1:])
    assert listed.returncode == 0, listed.stderr
    for image in sorted(set(listed.stdout.split())):
        if image.startswith("feedstorm-") or docker("image", "inspect", image).returncode == 0:
            continue
        pulled = docker("pull", "--quiet", image)
        if pulled.returncode != 0:
            return f"the image {image} is not here and cannot be pulled: {pulled.stderr.strip()[-200:]}"
    return ""


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=600, check=False)


def _asks(project: Project) -> Callable[[str], bool]:
    def answers(name: str) -> bool:
        address = project.address(project.need(name))
        try:
            return address is not None and probe(Component.REDIS, address)
        except Exception:  # refused, reset, frozen: all the same to the test
            return False

    return answers
