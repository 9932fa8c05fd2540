"""The stack is what the running project shows, and only what we started is ever taken down."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from compose.docker import cli, engine, record
from compose.docker.mapping import Mapping
from compose.docker.project import Project
from compose.docker.record import Record
from compose.docker_stack import DockerStack
from compose.stack import Component, Link, StackError, StackOptions
from tests.unit.docker.fake_engine import FakeApi, FakeContainer, client_of, redis

OURS, THEIRS = Record("shop", ours=True), Record("shop", ours=False)
Commands = list[list[str]]


def part(component: str, service: str, **more: Any) -> FakeContainer:
    labels = {"feedstorm.component": component, "feedstorm.port": str(more.pop("inside", 6379))}
    return FakeContainer("shop", service, labels, **more)


def whole(**more: Any) -> FakeApi:
    return FakeApi(
        part("mongo", "mongo1", fixed=20001),
        part("mongo", "mongo2", fixed=20002),
        part("redis", "redis", fixed=20003),
        part("kafka", "kafka", fixed=20004),
        part("api", "api1", fixed=20005),
        part("api", "api2", fixed=20006),
    )


def stack_of(api: FakeApi, home: Path, told: Record = OURS) -> DockerStack:
    return DockerStack(home, told, client_of(api))


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Every compose command that is run, instead of running it."""
    ran: Commands = []

    async def run(argv: list[str], *_: object, **__: object) -> None:
        ran.append(argv)

    monkeypatch.setattr(cli, "run", run)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    return ran


@pytest.fixture
def primary(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes the Mongo member at an address say that it is primary; all others refuse connections."""
    chosen = [""]

    def hello(address: str) -> dict[str, object]:
        if address != chosen[0]:
            raise ConnectionRefusedError
        return {"isWritablePrimary": True}

    monkeypatch.setattr("compose.ready.hello", hello)
    return lambda address: chosen.__setitem__(0, address)


def test_the_uri_leads_straight_to_whoever_is_primary_now(
    tmp_path: Path, primary: Callable[[str], None]
) -> None:
    stack = stack_of(whole(), tmp_path)
    for address, name in (("127.0.0.1:20002", "mongo2"), ("127.0.0.1:20001", "mongo1")):
        primary(address)
        assert stack.primary() == name
        assert stack.endpoints.mongo_uri == f"mongodb://{address}/?directConnection=true"


def test_without_a_primary_there_is_none(tmp_path: Path, primary: Callable[[str], None]) -> None:
    assert stack_of(whole(), tmp_path).primary() is None


def test_a_primary_whose_port_moved_is_found_again(
    tmp_path: Path, primary: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compose.docker.primary._LOOK_AGAIN_S", 0)
    api = FakeApi(part("mongo", "mongo1"))
    stack = stack_of(api, tmp_path)
    primary(f"127.0.0.1:{api.held[0].public}")
    assert stack.primary() == "mongo1"
    stack.control.kill("mongo1")
    stack.control.start("mongo1")
    primary(f"127.0.0.1:{api.held[0].public}")
    assert stack.primary() == "mongo1"


def test_endpoints_are_known_to_a_later_process_while_a_component_is_down(
    tmp_path: Path, primary: Callable[[str], None]
) -> None:
    api = whole()
    api.held[2].die(137)
    assert stack_of(api, tmp_path).endpoints.redis_url == "redis://127.0.0.1:20003/0"


def test_a_component_that_is_missing_is_named(tmp_path: Path, primary: Callable[[str], None]) -> None:
    api = whole()
    del api.held[3]
    with pytest.raises(StackError, match="'shop' has no container that plays kafka"):
        _ = stack_of(api, tmp_path).endpoints


def test_containers_that_were_made_anew_are_another_stack(tmp_path: Path) -> None:
    api = whole()
    stack = stack_of(api, tmp_path)
    before = stack.id
    stack.control.kill("mongo1")
    stack.control.start("mongo1")
    assert stack.id == before
    api.held[0].id = "f" * 64
    assert stack.id != before


def test_the_apps_settings_are_those_of_its_containers(tmp_path: Path) -> None:
    assert stack_of(whole(), tmp_path).app_env == {"FEED_STRATEGY": "hybrid"}


def test_what_is_remembered_is_attached_to_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = whole()
    monkeypatch.setattr(engine, "connect", lambda allowed_hosts=(): client_of(api))
    assert DockerStack.attach(tmp_path) is None
    DockerStack.adopt(tmp_path, "shop")
    attached = DockerStack.attach(tmp_path)
    assert attached is not None
    assert [member.name for member in attached.members if member.component is Component.API] == [
        "api1",
        "api2",
    ]
    api.held.clear()
    assert DockerStack.attach(tmp_path) is None


def test_a_project_without_a_part_is_not_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = FakeApi(FakeContainer("shop", "mail", {}), redis("other"))
    monkeypatch.setattr(engine, "connect", lambda allowed_hosts=(): client_of(api))
    with pytest.raises(
        StackError, match=r"No container of the compose project 'shop' plays a part: .*mapping file"
    ):
        DockerStack.adopt(tmp_path, "shop")
    assert record.read(tmp_path) is None


def test_a_record_that_makes_no_sense_is_one_sentence(tmp_path: Path) -> None:
    record.path(tmp_path).write_text("{")
    with pytest.raises(StackError, match=r"docker\.json does not describe a docker stack .*; delete it"):
        DockerStack.attach(tmp_path)


async def test_a_project_that_is_there_is_neither_started_nor_taken_down(
    tmp_path: Path, commands: Commands
) -> None:
    stack = stack_of(whole(), tmp_path)
    with pytest.raises(StackError, match="there already and is not touched"):
        await stack.up()
    await stack.down()
    assert commands == []


async def test_a_project_of_somebody_else_is_forgotten_and_left_running(
    tmp_path: Path, commands: Commands
) -> None:
    record.write(tmp_path, THEIRS)
    stack = stack_of(whole(), tmp_path, THEIRS)
    with pytest.raises(StackError, match="not ours to start"):
        await stack.up()
    await stack.down()
    assert commands == []
    assert record.read(tmp_path) is None


async def test_up_and_down_are_one_compose_command_each(tmp_path: Path, commands: Commands) -> None:
    stack = stack_of(
        FakeApi(), tmp_path, Record("shop", True, ("a.yml",), options=StackOptions(api_instances=1))
    )
    await stack.up()
    assert record.read(tmp_path) is not None
    await stack.down()
    up, down = (command[command.index("--project-name") :] for command in commands)
    assert up[:4] == ["--project-name", "shop", "--file", "a.yml"]
    assert {"up", "--wait", "--detach", "api2=0"} <= set(up)
    assert down[-5:] == ["down", "--volumes", "--remove-orphans", "--timeout", "5"]
    assert record.read(tmp_path) is None


async def test_down_thaws_first_what_is_frozen(tmp_path: Path, commands: Commands) -> None:
    record.write(tmp_path, OURS)
    api = whole()
    stack = stack_of(api, tmp_path)
    stack.control.pause("redis")
    await stack.down()
    assert api.held[2].status == "running"


async def test_more_instances_than_there_are_is_refused(tmp_path: Path, commands: Commands) -> None:
    stack = stack_of(FakeApi(), tmp_path, Record("shop", True, options=StackOptions(api_instances=5)))
    with pytest.raises(StackError, match="one or two instances of the API, not 5"):
        await stack.up()


@pytest.mark.parametrize(
    ("change", "said"),
    [({"health": "unhealthy"}, "its health check says unhealthy"), ({"status": "exited"}, "it is down")],
)
async def test_waiting_names_who_is_not_ready_and_why(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    api = FakeApi(redis("shop", "good", port=None), redis("shop", "bad", port=None))
    for name, value in change.items():
        setattr(api.held[1], name, value)
    with pytest.raises(StackError, match=f"bad doing its work did not happen.*{said}") as caught:
        await stack_of(api, tmp_path).wait_ready(within_s=0.1)
    assert "good" not in str(caught.value)


def test_logs_are_written_where_the_members_say(tmp_path: Path) -> None:
    stack = stack_of(whole(), tmp_path)
    stack.write_logs()
    logs = [member.log for member in stack.members]
    assert all(log is not None and log.read_bytes() for log in logs)


@pytest.fixture
def toxiproxy() -> Iterator[int]:
    """The port of an address that lists proxies as Toxiproxy does."""
    proxies = {
        "app->mongo1": {"listen": "[::]:27017", "upstream": "mongo1.data:27017"},
        "api->redis": {"listen": "[::]:6379", "upstream": "redis:6379"},
        "app->nobody": {"listen": "[::]:1", "upstream": "nobody:1"},
        "mine": {"listen": "[::]:2", "upstream": "redis:6379"},
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(proxies).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_links_are_the_proxies_that_are_called_so_and_lead_to_a_member(
    tmp_path: Path, toxiproxy: int
) -> None:
    api = whole()
    api.held.append(part("proxy", "toxiproxy", inside=6379, fixed=toxiproxy))
    stack = stack_of(api, tmp_path)
    through = f"127.0.0.1:{toxiproxy}"
    assert stack.links == (
        Link("api->redis", "api", "redis", through, "redis:6379"),
        Link("app->mongo1", "app", "mongo1", "[::]:27017", "mongo1.data:27017"),
    )


def test_links_stay_known_while_the_proxy_does_not_answer(tmp_path: Path, toxiproxy: int) -> None:
    api = whole()
    api.held.append(part("proxy", "toxiproxy", fixed=toxiproxy))
    stack = stack_of(api, tmp_path)
    before = stack.links
    api.held[-1].fixed = 9
    api.held[-1].run()
    stack._project.look()
    assert stack.links == before


def test_without_a_proxy_there_are_no_links(tmp_path: Path) -> None:
    assert stack_of(whole(), tmp_path).links == ()


def test_versions_name_the_image_where_a_server_says_nothing(tmp_path: Path) -> None:
    api = FakeApi(part("kafka", "kafka", image="apache/kafka:4.0.0"))
    assert stack_of(api, tmp_path).versions() == {"kafka": "apache/kafka:4.0.0"}


def test_only_the_project_is_looked_at(tmp_path: Path) -> None:
    api = FakeApi(redis("shop"), redis("shop-test"))
    assert len(Project(client_of(api), "shop", Mapping()).look()) == 1
