"""The stack as people run it: no way around the proxy, a set-up to be repeated, members that come back."""

import asyncio
import json
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from compose.docker import cli
from compose.stack import Component, State
from compose.waiting import wait_until
from tests.integration.docker.running import ROOT, Running, command

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]


def readiness(address: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://{address}/readyz", timeout=5) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return dict(json.load(error))


def toxiproxy(up: Running, path: str, body: dict[str, object]) -> None:
    url = f"{up.stack.endpoints.toxiproxy_url}{path}"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"User-Agent": "feedstorm"})
    urllib.request.urlopen(request, timeout=5).close()


def wait(check: Any, what: str, within_s: float = 60) -> None:
    asyncio.run(wait_until(check, what, within_s=within_s, every_s=0.2))


def ready(up: Running) -> None:
    asyncio.run(up.stack.wait_ready(within_s=90))


def test_status_shows_every_member_and_who_is_primary(up: Running) -> None:
    told = json.loads(up.feedstorm("status", "--json").stdout)
    names = {member["name"] for member in told["members"]}
    assert {"mongo1", "mongo2", "mongo3", "redis", "kafka", "api1", "api2", "worker-fanout"} <= names
    assert told["primary"] in {"mongo1", "mongo2", "mongo3"}


@pytest.mark.parametrize(
    ("links", "store"),
    [
        (("app->mongo1", "app->mongo2", "app->mongo3"), "mongo"),
        (("api->redis",), "redis"),
        (("app->kafka",), "kafka"),
    ],
)
def test_a_link_that_is_cut_takes_the_store_away_from_the_app(
    up: Running, links: tuple[str, ...], store: str
) -> None:
    api = next(member for member in up.stack.members if member.component is Component.API)
    assert api.address is not None
    address = api.address
    ready(up)
    for link in links:
        toxiproxy(up, f"/proxies/{link}", {"enabled": False})
    try:
        wait(lambda: store in str(readiness(address).get("unusable")), f"the API missing {store}")
    finally:
        for link in links:
            toxiproxy(up, f"/proxies/{link}", {"enabled": True})
    wait(lambda: readiness(address).get("ready"), "the API being ready again")


@pytest.mark.parametrize("name", ["mongo1.data", "redis.data", "kafka.data"])
def test_the_app_cannot_even_name_a_store_behind_the_proxy(up: Running, name: str) -> None:
    look = f"import socket; socket.getaddrinfo({name!r}, 1)"
    assert "gaierror" in up.in_container("api1", "python", "-c", look).stderr


def test_the_app_runs_as_a_user_of_its_own_without_pip(up: Running) -> None:
    assert up.in_container("api1", "id", "-u").stdout.strip() == "10001"
    assert up.in_container("api1", "python", "-m", "pip", "--version").returncode != 0


def test_setting_up_again_changes_nothing(up: Running) -> None:
    before = up.stack.primary()
    argv = cli.command(up.project, (cli.COMPOSE_FILE,), "up", "--no-deps", "--exit-code-from", "init", "init")
    done = subprocess.run(argv, env=up.env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert up.stack.primary() == before


@pytest.mark.parametrize(
    "role", ["mongo", "redis", "kafka", "api1", "worker-fanout", "worker-likes", "worker-upkeep"]
)
def test_a_member_that_is_killed_and_started_does_its_work_again(up: Running, role: str) -> None:
    ready(up)
    name = (up.stack.primary() or "") if role == "mongo" else role
    up.stack.control.kill(name)
    try:
        assert up.stack.control.state(name) is State.DOWN
        if role == "mongo":
            wait(lambda: up.stack.primary() not in (None, name), "another member being elected")
    finally:
        up.stack.control.start(name)
    ready(up)


def test_a_runner_that_is_killed_leaves_nothing_broken(up: Running) -> None:
    ready(up)
    runner = subprocess.Popen(
        command("inject", "kill", "redis", "--for", "10m"), env=up.env, cwd=ROOT, stdout=subprocess.DEVNULL
    )
    try:
        wait(lambda: up.stack.control.state("redis") is State.DOWN, "redis being killed")
    finally:
        runner.kill()
        runner.wait()
    killed_at = time.monotonic()
    wait(lambda: up.stack.control.state("redis") is State.RUNNING, "the reaper starting redis", within_s=20)
    assert time.monotonic() - killed_at < 15
    ready(up)


def test_a_project_that_is_up_is_not_started_over(up: Running, tmp_path: Any) -> None:
    env = {**up.env, "FEEDSTORM_HOME": str(tmp_path)}
    argv = command("up", "--stack", "docker")
    done = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 4
    assert "is there already and is not touched" in done.stderr
    ready(up)


def test_a_project_can_be_used_and_forgotten_by_somebody_who_did_not_start_it(
    up: Running, tmp_path: Any
) -> None:
    other = Running(tmp_path, {**up.env, "FEEDSTORM_HOME": str(tmp_path)})
    assert other.feedstorm("use", "--project", up.project).returncode == 0
    assert "mongo1" in other.feedstorm("status").stdout
    assert other.feedstorm("down").returncode == 0
    assert other.feedstorm("status").returncode == 4
    ready(up)
