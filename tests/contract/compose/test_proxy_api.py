"""Toxiproxy's HTTP API, as our own proxy and the real one both speak it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from toxiproxy import Toxiproxy

from compose.embedded.ports import free_ports

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def _clean(api: httpx.Client) -> Iterator[None]:
    yield
    for name in api.get("/proxies").json():
        api.delete(f"/proxies/{quote(name)}")


def a_proxy(api: httpx.Client, name: str = "app->redis", **more: Any) -> Json:
    listen, upstream = free_ports(2)
    body = {"name": name, "listen": f"127.0.0.1:{listen}", "upstream": f"127.0.0.1:{upstream}", **more}
    reply = api.post("/proxies", json=body)
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def error(reply: httpx.Response) -> tuple[int, str]:
    body = reply.json()
    assert body["status"] == reply.status_code
    return reply.status_code, body["error"]


def known(proxy: Json) -> Json:
    """A proxy's fields that clients rely on; the real one has a logger among them, too."""
    return {name: proxy[name] for name in ("name", "listen", "upstream", "enabled", "toxics")}


PATH = "/proxies/app-%3Eredis"


def test_the_version_is_plain_text(api: httpx.Client) -> None:
    reply = api.get("/version")
    assert (reply.status_code, bool(reply.text.strip())) == (200, True)
    assert reply.headers["content-type"].startswith("text/plain")


def test_a_proxy_is_created_shown_listed_and_deleted(api: httpx.Client) -> None:
    proxy = a_proxy(api)
    assert (proxy["enabled"], proxy["toxics"]) == (True, [])
    assert known(api.get(PATH).json()) == known(proxy)
    assert {name: known(p) for name, p in api.get("/proxies").json().items()} == {"app->redis": known(proxy)}
    assert api.delete(PATH).status_code == 204
    assert api.get("/proxies").json() == {}
    assert error(api.delete(PATH)) == (404, "proxy not found")


def test_names_are_unique_and_needed(api: httpx.Client) -> None:
    proxy = a_proxy(api)
    assert error(api.post("/proxies", json=known(proxy))) == (409, "proxy already exists")
    assert error(api.post("/proxies", json={"upstream": "x:1"})) == (400, "missing required field: name")
    assert error(api.post("/proxies", json={"name": "x"})) == (400, "missing required field: upstream")
    status, message = error(api.post("/proxies", content=b"{nope"))
    assert (status, message.partition(":")[0]) == (400, "bad request body")


def test_a_port_that_is_taken_is_an_error_and_leaves_no_proxy(api: httpx.Client) -> None:
    proxy = a_proxy(api)
    status, message = error(api.post("/proxies", json={**known(proxy), "name": "other"}))
    assert (status, "address already in use" in message) == (500, True)
    assert list(api.get("/proxies").json()) == ["app->redis"]


def test_without_a_port_one_is_chosen(api: httpx.Client) -> None:
    reply = api.post("/proxies", json={"name": "any", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"})
    assert int(reply.json()["listen"].rpartition(":")[2]) > 0


def test_a_proxy_is_switched_off_and_on_and_moved(api: httpx.Client) -> None:
    proxy = a_proxy(api)
    assert api.post(PATH, json={"enabled": False}).json()["enabled"] is False
    assert api.post(PATH, json={"enabled": False}).json()["enabled"] is False
    assert api.post(PATH, json={"enabled": True}).json()["enabled"] is True
    (port,) = free_ports(1)
    moved = api.post(PATH, json={"listen": f"127.0.0.1:{port}"}).json()
    assert known(moved) == {**known(proxy), "listen": f"127.0.0.1:{port}"}
    assert error(api.post("/proxies/none", json={"enabled": True})) == (404, "proxy not found")


def test_toxics_have_defaults_and_names_of_their_own(api: httpx.Client) -> None:
    a_proxy(api)
    latency = api.post(f"{PATH}/toxics", json={"type": "latency", "attributes": {"latency": 100}})
    assert latency.status_code == 200
    assert latency.json() == {
        "name": "latency_downstream",
        "type": "latency",
        "stream": "downstream",
        "toxicity": 1,
        "attributes": {"latency": 100, "jitter": 0},
    }
    named = {"type": "bandwidth", "name": "slow", "stream": "upstream", "toxicity": 0.5}
    assert api.post(f"{PATH}/toxics", json={**named, "attributes": {"rate": 7}}).json() == {
        **named,
        "attributes": {"rate": 7},
    }
    names = {toxic["name"] for toxic in api.get(f"{PATH}/toxics").json()}
    assert (
        names == {toxic["name"] for toxic in api.get(PATH).json()["toxics"]} == {"latency_downstream", "slow"}
    )


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("latency", {"latency": 0, "jitter": 0}),
        ("bandwidth", {"rate": 0}),
        ("slow_close", {"delay": 0}),
        ("timeout", {"timeout": 0}),
        ("reset_peer", {"timeout": 0}),
        ("slicer", {"average_size": 0, "size_variation": 0, "delay": 0}),
        ("limit_data", {"bytes": 0}),
    ],
)
def test_every_toxic_has_its_attributes(api: httpx.Client, kind: str, attributes: Json) -> None:
    a_proxy(api)
    assert api.post(f"{PATH}/toxics", json={"type": kind}).json()["attributes"] == attributes


def test_toxics_are_shown_changed_and_removed(api: httpx.Client) -> None:
    a_proxy(api)
    toxic = api.post(f"{PATH}/toxics", json={"type": "latency", "attributes": {"latency": 100, "jitter": 5}})
    path = f"{PATH}/toxics/latency_downstream"
    assert api.get(path).json() == toxic.json()
    changed = api.post(path, json={"toxicity": 0.25, "attributes": {"latency": 300}}).json()
    assert (changed["toxicity"], changed["attributes"]) == (0.25, {"latency": 300, "jitter": 5})
    assert api.delete(path).status_code == 204
    assert api.get(f"{PATH}/toxics").json() == []


def test_wrong_toxics_are_refused(api: httpx.Client) -> None:
    a_proxy(api)
    assert error(api.post(f"{PATH}/toxics", json={"type": "nope"})) == (400, "invalid toxic type")
    sideways = api.post(f"{PATH}/toxics", json={"type": "timeout", "stream": "sideways"})
    assert error(sideways) == (400, "stream was invalid, can be either upstream or downstream")
    api.post(f"{PATH}/toxics", json={"type": "timeout"})
    assert error(api.post(f"{PATH}/toxics", json={"type": "timeout"})) == (409, "toxic already exists")
    for verb in ("GET", "DELETE"):
        assert error(api.request(verb, f"{PATH}/toxics/none")) == (404, "toxic not found")
    assert error(api.post(f"{PATH}/toxics/none", json={})) == (404, "toxic not found")
    assert error(api.post("/proxies/none/toxics", json={"type": "timeout"})) == (404, "proxy not found")
    status, _ = error(api.post(f"{PATH}/toxics", json={"type": "latency", "attributes": {"latency": "long"}}))
    assert status == 400


def test_reset_switches_everything_on_and_takes_all_toxics_out(api: httpx.Client) -> None:
    a_proxy(api)
    api.post(f"{PATH}/toxics", json={"type": "timeout"})
    api.post(PATH, json={"enabled": False})
    assert api.post("/reset").status_code == 204
    proxy = api.get(PATH).json()
    assert (proxy["enabled"], proxy["toxics"]) == (True, [])


def test_populate_creates_replaces_and_keeps(api: httpx.Client) -> None:
    kept, moved, new = free_ports(3)
    wanted = [
        {"name": "kept", "listen": f"127.0.0.1:{kept}", "upstream": "127.0.0.1:1", "enabled": True},
        {"name": "moved", "listen": f"127.0.0.1:{moved}", "upstream": "127.0.0.1:1", "enabled": True},
    ]
    assert api.post("/populate", json=wanted).status_code == 201
    api.post("/proxies/kept/toxics", json={"type": "latency"})
    wanted[1] |= {"listen": f"127.0.0.1:{new}"}
    reply = api.post("/populate", json=wanted)
    assert reply.status_code == 201
    assert [known(proxy)["listen"] for proxy in reply.json()["proxies"]] == [w["listen"] for w in wanted]
    assert len(api.get("/proxies/kept").json()["toxics"]) == 1


def test_populate_refuses_what_is_incomplete(api: httpx.Client) -> None:
    reply = api.post("/populate", json=[{"name": "x"}])
    assert error(reply) == (400, "missing required field: upstream at proxy 1")
    assert error(api.post("/populate", json={"a": 1}))[0] == 400


def test_unknown_paths_and_methods_are_refused(api: httpx.Client) -> None:
    assert api.get("/nope").status_code == 404
    assert api.delete("/proxies").status_code == 405


def test_the_python_client_works_with_it(api: httpx.Client) -> None:
    server = Toxiproxy()
    server.update_api_consumer(api.base_url.host, api.base_url.port)
    proxy = server.create(upstream="127.0.0.1:1", name="client", listen="127.0.0.1:0")
    proxy.add_toxic(type="latency", attributes={"latency": 5})
    assert proxy.get_toxic("latency_downstream").attributes["latency"] == 5
    proxy.destroy_toxic("latency_downstream")
    assert proxy.toxics() == {}
    proxy.disable()
    assert server.get_proxy("client").enabled is False
    assert server.reset()
    assert server.get_proxy("client").enabled is True
