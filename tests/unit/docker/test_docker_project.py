"""A project is what compose's labels say, exactly."""

from pathlib import Path

import pytest

from compose.docker.control import DockerControl
from compose.docker.mapping import Mapping, Part
from compose.docker.project import Project
from compose.stack import Component, StackError, State
from tests.unit.docker.fake_engine import FakeApi, FakeContainer, client_of, redis

LOGS = Path("logs")


def project(api: FakeApi, mapping: Mapping | None = None) -> Project:
    return Project(client_of(api), "shop", mapping or Mapping())


def test_a_project_with_a_similar_name_is_somebody_elses() -> None:
    api = FakeApi(redis("shop"), redis("shop2"), redis("my-shop"), redis("Shop"))
    assert [each.id[:11] for each in project(api).look()] == ["shop-redis-"]


def test_one_off_containers_and_services_without_a_part_are_left_out() -> None:
    api = FakeApi(redis("shop"), redis("shop", "console", one_off=True), FakeContainer("shop", "mail", {}))
    assert [member.name for member in project(api).members(LOGS)] == ["redis"]


def test_members_of_a_scaled_service_are_told_apart_by_number() -> None:
    api = FakeApi(redis("shop", "web", number=1), redis("shop", "web", number=2), redis("shop"))
    assert [member.name for member in project(api).members(LOGS)] == ["redis", "web-1", "web-2"]


def test_the_mapping_goes_before_the_labels() -> None:
    api = FakeApi(redis("shop", "cache"))
    mapping = Mapping(services={"cache": Part(Component.WORKER, port=6379, kind="likes")})
    (member,) = project(api, mapping).members(LOGS)
    assert (member.component, member.kind) == (Component.WORKER, "likes")


def test_an_address_is_what_is_published_now_and_after_a_start_what_is_published_then() -> None:
    api = FakeApi(redis("shop"))
    seen = project(api)
    control = DockerControl(client_of(api), seen)
    before = seen.members(LOGS)[0].address
    control.kill("redis")
    assert seen.members(LOGS)[0].address == before, "while it is down, where it was last"
    control.start("redis")
    assert seen.members(LOGS)[0].address == f"127.0.0.1:{api.held[0].public}" != before


def test_an_observer_who_comes_while_it_is_down_knows_a_fixed_port_and_no_other() -> None:
    api = FakeApi(redis("shop", "a", fixed=26379), redis("shop", "b"))
    for container in api.held:
        container.die(137)
    assert [member.address for member in project(api).members(LOGS)] == ["127.0.0.1:26379", None]


def test_a_member_that_publishes_nothing_has_no_address() -> None:
    assert project(FakeApi(redis("shop", port=None))).members(LOGS)[0].address is None


@pytest.mark.parametrize(
    ("status", "state"),
    [("running", State.RUNNING), ("paused", State.PAUSED)]
    + [(each, State.DOWN) for each in ("exited", "created", "dead", "restarting", "removing")],
)
def test_every_state_of_the_engine_is_one_of_ours(status: str, state: State) -> None:
    api = FakeApi(redis("shop"))
    api.held[0].status = status
    assert DockerControl(client_of(api), project(api)).state("redis") is state


@pytest.mark.parametrize(
    ("said", "health"), [("healthy", "healthy"), ("health: starting", "starting"), ("", "")]
)
def test_health_is_what_the_engine_says(said: str, health: str) -> None:
    assert project(FakeApi(redis("shop", health=said))).look()[0].health == health


def test_a_member_that_its_restart_policy_brings_back_is_an_error_that_says_so() -> None:
    api = FakeApi(redis("shop", comes_back=True))
    with pytest.raises(StackError, match=r"redis came back by itself: its restart policy undoes the fault"):
        DockerControl(client_of(api), project(api)).kill("redis")


def test_a_member_that_ignores_sigterm_is_an_error_that_says_so() -> None:
    api = FakeApi(redis("shop", ignores_term=True))
    with pytest.raises(StackError, match="did not end within 20 s after SIGTERM"):
        DockerControl(client_of(api), project(api)).terminate("redis")


def test_disconnecting_and_reconnecting_leaves_every_network_and_alias_as_it_was() -> None:
    api = FakeApi(redis("shop", networks={"shop_data": ["redis", "redis.data"], "shop_app": ["r"]}))
    control = DockerControl(client_of(api), project(api))
    seats = control.seats("redis")
    control.disconnect("redis")
    assert control.seats("redis") == ()
    control.reconnect("redis", seats)
    control.reconnect("redis", seats)
    assert control.seats("redis") == seats


def test_an_engine_that_goes_away_is_one_plain_sentence_for_every_act() -> None:
    api = FakeApi(redis("shop"))
    control = DockerControl(client_of(api), project(api))
    api.gone = True
    for act in (control.state, control.kill, control.terminate, control.pause, control.resume, control.start):
        with pytest.raises(StackError, match="the Docker engine went away") as caught:
            act("redis")
        assert "\n" not in str(caught.value)


def test_senseless_labels_are_an_error_that_names_the_service() -> None:
    wrong = FakeContainer("shop", "cache", {"feedstorm.component": "memcached"})
    with pytest.raises(StackError, match=r"'cache'.*memcached"):
        project(FakeApi(wrong)).look()
