"""The links of a running project: what its Toxiproxy holds, with the names that it has there."""

import json
import urllib.request
from typing import Any

from compose.docker.project import Container, Project
from compose.stack import Component, Link, StackError

_ASK_S = 3.0


def toxiproxy_url(project: Project) -> str | None:
    """Where an observer reaches Toxiproxy's API; None if the project has none, or does not publish it."""
    if project.mapping.endpoints.toxiproxy_url:
        return project.mapping.endpoints.toxiproxy_url
    proxy = _proxy(project)
    address = project.address(proxy) if proxy else None
    return f"http://{address}" if address else None


def read(project: Project) -> tuple[Link, ...]:
    """Every proxy called `client->server` whose server is a member. Others are somebody else's.

    `listen` is where an observer on this machine can go through the link too, if that is published,
    else where the clients inside go through it. Raises StackError: Toxiproxy does not answer.
    """
    url = toxiproxy_url(project)
    if url is None:
        return ()
    containers = project.containers()
    proxy = _proxy(project)
    links = []
    for name, held in sorted(_ask(f"{url}/proxies").items()):
        client, arrow, _ = name.partition("->")
        server = _server(held["upstream"], containers)
        if arrow and server:
            listen = _published(held["listen"], proxy)
            links.append(Link(name, client, server, listen, held["upstream"]))
    return tuple(links)


def _proxy(project: Project) -> Container | None:
    return next((each for each in project.containers() if each.part.component == Component.PROXY), None)


def _ask(url: str) -> dict[str, Any]:
    request = urllib.request.Request(url, headers={"User-Agent": "feedstorm"})
    try:
        with urllib.request.urlopen(request, timeout=_ASK_S) as answer:
            return dict(json.load(answer))
    except (OSError, ValueError) as error:
        raise StackError(f"Toxiproxy at {url} cannot be asked for its proxies: {error}") from None


def _server(upstream: str, containers: tuple[Container, ...]) -> str | None:
    """The member behind `mongo1.data:27017`: the one whose name, or service, is the host's first label."""
    host = upstream.rpartition(":")[0].partition(".")[0]
    return next((each.name for each in containers if host in (each.name, each.service)), None)


def _published(listen: str, proxy: Container | None) -> str:
    port = int(listen.rpartition(":")[2])
    return (proxy.ports.get(port) if proxy else None) or listen
