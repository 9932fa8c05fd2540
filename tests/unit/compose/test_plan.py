import dataclasses
import re
from pathlib import Path

import pytest

from compose.embedded.parts import Part, Parts
from compose.embedded.plan import plan, ports_needed
from compose.embedded.state import StackRecord
from compose.stack import Component, StackOptions

HOME = Path("/somewhere/.feedstorm")
OURS = Parts(
    mongo=Part(None, "ours"),
    redis=Part("/bin/redis", "7"),
    kafka=Part("/bin/tansu", "0"),
    proxy=Part(None, "ours"),
)
REAL = dataclasses.replace(OURS, mongo=Part("/bin/mongod", "8"), proxy=Part("/bin/toxiproxy-server", "2"))


def planned(parts: Parts = OURS, **options: object) -> StackRecord:
    chosen = dataclasses.replace(StackOptions(), **options)  # type: ignore[arg-type] # checked by StackOptions
    return plan(HOME, Path("/project"), chosen, parts, list(range(20_000, 20_000 + ports_needed(chosen))))


def argv(record: StackRecord, name: str) -> str:
    member = record.member(name)
    assert member
    return " ".join(member.argv)


@pytest.mark.parametrize("parts", [OURS, REAL])
@pytest.mark.parametrize("services_only", [True, False])
@pytest.mark.parametrize("through_proxy", [True, False])
def test_no_two_listeners_share_a_port(parts: Parts, services_only: bool, through_proxy: bool) -> None:
    record = planned(parts, services_only=services_only, through_proxy=through_proxy)
    listeners = [member.address for member in record.members] + [link.listen for link in record.links]
    assert len(set(listeners)) == len(listeners)
    assert all(re.fullmatch(r"127\.0\.0\.1:2\d{4}", listener) for listener in listeners)


def test_members_have_unique_names_logs_and_roles() -> None:
    record = planned()
    names = [member.name for member in record.members]
    assert len(set(names)) == len(names) == 14
    assert {member.log for member in record.members} == {f"{HOME}/logs/{name}.log" for name in names}
    kinds = [member.kind for member in record.members if member.component is Component.WORKER]
    assert kinds == ["fanout", "fanout", "likes", "likes", "upkeep"]


def test_the_app_knows_the_proxy_and_nothing_behind_it() -> None:
    record = planned()
    upstreams = {link.upstream for link in record.links}
    for member in record.members:
        if member.component in (Component.API, Component.WORKER):
            settings = " ".join(member.env.values())
            assert not any(upstream in settings for upstream in upstreams)


def test_members_advertise_the_proxy_and_listen_elsewhere() -> None:
    record = planned()
    links = {link.name: link for link in record.links}
    for name in ("mongo1", "mongo2", "mongo3"):
        link = links[f"app->{name}"]
        assert f"--listen {link.upstream} --advertise {link.listen}" in argv(record, name)
        assert link.listen in record.endpoints.mongo_uri
    kafka = links["app->kafka"]
    assert f"--listener-url tcp://{kafka.upstream} --advertised-listener-url tcp://{kafka.listen}" in argv(
        record, "kafka"
    )
    assert record.mongo_addresses == [links[f"app->mongo{n}"].listen for n in (1, 2, 3)]


def test_api_and_workers_have_links_of_their_own_to_redis() -> None:
    record = planned()
    links = {link.name: link for link in record.links}
    for member in record.members:
        if member.component in (Component.API, Component.WORKER):
            assert links[f"{member.component}->redis"].listen in member.env["FEED_REDIS_URL"]


def test_observers_reach_redis_and_kafka_directly() -> None:
    record = planned()
    links = {link.name: link for link in record.links}
    assert record.endpoints.redis_url == f"redis://{links['api->redis'].upstream}/0"
    assert record.endpoints.kafka_bootstrap == links["app->kafka"].upstream


def test_without_the_proxy_there_are_no_links() -> None:
    record = planned(through_proxy=False)
    assert record.links == ()
    assert record.member("proxy") is None
    assert record.endpoints.toxiproxy_url is None
    redis = record.member("redis")
    assert redis
    assert record.app_env["FEED_REDIS_URL"] == f"redis://{redis.address}/0"


def test_services_alone() -> None:
    record = planned(services_only=True)
    assert record.endpoints.api == ()
    assert not [m for m in record.members if m.component in (Component.API, Component.WORKER)]


def test_options_reach_the_members() -> None:
    record = planned(
        api_instances=3, app_env={"FEED_STRATEGY": "pull"}, app_module="tests.variant", election_timeout_s=3
    )
    assert len(record.endpoints.api) == 3
    assert "-m tests.variant worker likes --host 127.0.0.1 --port" in argv(record, "worker-likes1")
    api = record.member("api3")
    assert api
    assert api.env["FEED_STRATEGY"] == "pull"
    assert api.cwd == "/project"
    assert "--election-timeout 3 --heartbeat 0.5" in argv(record, "mongo1")
    assert "--heartbeat 0.25" in argv(planned(election_timeout_s=1.5), "mongo1")


def test_real_programs_are_used_where_they_are_found() -> None:
    record = planned(REAL)
    assert record.member("store") is None
    assert argv(record, "mongo2").startswith("/bin/mongod --replSet rs0 --bind_ip 127.0.0.1 --port")
    assert "/bin/toxiproxy-server -host 127.0.0.1 -port" in argv(record, "proxy")
    assert record.versions == {"mongo": "8", "redis": "7", "kafka": "0", "proxy": "2"}
    assert any("cuts it off from the other members" in limit for limit in record.limits)


def test_the_limits_name_what_the_stack_cannot_show() -> None:
    text = " ".join(planned().limits)
    for word in ("SecantusDB", "rollback", "memory storage", "one machine"):
        assert word in text
