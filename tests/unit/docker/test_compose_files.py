"""Every profile and override is something that `docker compose` accepts, and keeps the stack's promises."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compose.docker import cli, init
from compose.docker.overrides import APP, write_overrides
from compose.stack import Component, StackOptions

HERE = cli.HERE
BASE = ("-f", "docker-compose.yml")
SHARDED = ("--env-file", "versions.env", "--env-file", "sharded.env", *BASE)
VARIANTS = {
    "plain": BASE,
    "lite": (*BASE, "-f", "lite.yml"),
    "sharded": SHARDED,
    "swarm": (*BASE, "--profile", "swarm"),
    "observe": (*BASE, "--profile", "observe"),
    "lite with all": (*BASE, "-f", "lite.yml", "--profile", "swarm", "--profile", "observe"),
    "everything": (*BASE, "--profile", "*"),
}
LAPTOP_MIB = 14 * 1024  # of 16 GB, even with every profile at once; most never use what they may


def missing_compose() -> str:
    """Why compose files cannot be checked here; empty if they can. Needs the command only, no engine."""
    if shutil.which("docker") is None:
        return "there is no docker command here"
    asked = subprocess.run(["docker", "compose", "version"], capture_output=True, timeout=30, check=False)
    return "" if asked.returncode == 0 else "the docker command here has no `compose`"


WHY_NOT = missing_compose()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def resolved(*arguments: str, folder: Path = HERE) -> dict[str, Any]:
    """The compose document that compose makes of the files, or its complaint."""
    done = subprocess.run(
        ["docker", "compose", *arguments, "config", "--format", "json"],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "variable is not set" not in done.stderr, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module", params=sorted(VARIANTS))
def variant(request: pytest.FixtureRequest) -> dict[str, Any]:
    return resolved(*VARIANTS[request.param])


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return resolved(*BASE)


def test_ports_are_published_on_loopback_only(variant: dict[str, Any]) -> None:
    ports = [port for service in variant["services"].values() for port in service.get("ports", ())]
    assert ports
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


def test_every_service_is_limited_and_all_fit_a_laptop(variant: dict[str, Any]) -> None:
    limits = [int(service["mem_limit"]) >> 20 for service in variant["services"].values()]
    assert sum(limits) <= LAPTOP_MIB


def test_nothing_starts_again_by_itself(variant: dict[str, Any]) -> None:
    assert not [name for name, service in variant["services"].items() if service.get("restart", "no") != "no"]


def test_only_the_proxy_stands_in_both_networks(plain: dict[str, Any]) -> None:
    both = [
        name for name, service in plain["services"].items() if set(service["networks"]) == {"app", "data"}
    ]
    assert both == ["toxiproxy"]


def test_a_dial_to_a_killed_container_does_not_hold_up_those_that_follow(variant: dict[str, Any]) -> None:
    """Measured with the kernel's 6 repeats: up to 5.1 s from a Redis that is ready to one that is reached."""
    assert variant["services"]["toxiproxy"]["sysctls"] == {"net.ipv4.tcp_syn_retries": "1"}


def test_the_app_lives_where_only_the_proxy_answers_to_the_stores_names(plain: dict[str, Any]) -> None:
    services = plain["services"]
    assert all(set(services[name]["networks"]) == {"app"} for name in (*APP, "init"))
    stores = ("mongo1", "mongo2", "mongo3", "redis", "kafka")
    assert all(set(services[name]["networks"]) == {"data"} for name in stores)
    assert set(stores) <= set(services["toxiproxy"]["networks"]["app"]["aliases"])
    for name in stores:
        assert f"{name}.data" in services[name]["networks"]["data"]["aliases"]


def test_every_name_that_the_app_uses_is_a_proxy_with_that_port(plain: dict[str, Any]) -> None:
    listening = {int(proxy["listen"].rpartition(":")[2]) for proxy in json.loads(init.PROXIES.read_bytes())}
    aliases = plain["services"]["toxiproxy"]["networks"]["app"]["aliases"]
    for name in APP:
        env = plain["services"][name]["environment"]
        mongo = env["FEED_MONGO_URI"].removeprefix("mongodb://").partition("/")[0].split(",")
        redis = env["FEED_REDIS_URL"].removeprefix("redis://").partition("/")[0]
        for address in (*mongo, redis, env["FEED_KAFKA_BOOTSTRAP"]):
            host, _, port = address.partition(":")
            assert host in aliases
            assert int(port) in listening


def test_every_part_of_a_stack_is_labelled(plain: dict[str, Any]) -> None:
    parts = {
        service["labels"]["feedstorm.component"]
        for service in plain["services"].values()
        if "labels" in service
    }
    assert parts == {str(component) for component in Component if component is not Component.STORE}


def test_lite_runs_one_mongo_member_and_the_app_knows_only_that_one() -> None:
    services = resolved(*VARIANTS["lite"])["services"]
    assert [name for name in services if name.startswith("mongo")] == ["mongo1"]
    uris = {
        service["environment"]["FEED_MONGO_URI"]
        for name, service in services.items()
        if name in (*APP, "init")
    }
    assert uris == {"mongodb://mongo1:27017/?replicaSet=rs0"}


def test_sharded_leads_the_app_to_the_router() -> None:
    services = resolved(*SHARDED)["services"]
    assert {"config1", "shard1", "shard2", "mongos", "init-shards"} <= set(services)
    assert services["api1"]["environment"]["FEED_MONGO_URI"] == "mongodb://mongos:27020/"


def test_ports_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API1", "KAFKA", "MONGO1", "TOXIPROXY"):
        monkeypatch.setenv(f"PORT_{name}", "0")
    monkeypatch.setenv("PORT_REDIS", "26379")
    assert resolved(*BASE)["services"]["redis"]["ports"][0]["published"] == "26379"


def test_options_change_the_app_and_nothing_else(tmp_path: Path, plain: dict[str, Any]) -> None:
    options = StackOptions(app_env={"FEED_FALLBACK_RPS": "7"}, app_module="tests.variants.careless")
    (file,) = write_overrides(options, tmp_path / "override.yml")
    changed = resolved(*BASE, "-f", str(file))["services"]
    for name, service in plain["services"].items():
        if name in APP:
            assert changed[name]["environment"]["FEED_FALLBACK_RPS"] == "7"
            assert changed[name]["environment"].items() > service["environment"].items()
            assert changed[name]["command"] == ["python", "-m", options.app_module, *service["command"][3:]]
        elif name != "init":
            assert changed[name] == service


def test_options_that_change_nothing_need_no_file(tmp_path: Path) -> None:
    assert write_overrides(StackOptions(), tmp_path / "override.yml") == ()
