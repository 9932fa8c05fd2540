"""How an observer on this machine reaches a running project, and what its servers say they are."""

from collections.abc import Iterable

import redis

from compose.docker import links
from compose.docker.project import Container, Project
from compose.embedded.mongo.client import ask_once
from compose.stack import Component, Endpoints, StackError

_NOWHERE = "127.0.0.1:0"
_ASK_S = 1.0


def endpoints(project: Project, primary: str | None) -> Endpoints:
    """Read off the project, except where the mapping says otherwise.

    `mongo_uri` leads straight to `primary`, because the names by which the members know each other
    mean nothing on this machine. A component that is down and whose port is not known has an
    address that refuses.

    Raises:
        StackError: the project has no such component at all.
    """
    given, containers = project.mapping.endpoints, project.containers()
    at = {component: _addresses(project, containers, component) for component in Component}
    mongo = next((project.address(each) for each in containers if each.name == primary), None)
    return Endpoints(
        api=tuple(f"http://{address}" for address in at[Component.API] if address != _NOWHERE),
        mongo_uri=given.mongo_uri
        or f"mongodb://{mongo or _one(project, at, Component.MONGO)}/?directConnection=true",
        redis_url=given.redis_url or f"redis://{_one(project, at, Component.REDIS)}/0",
        kafka_bootstrap=given.kafka_bootstrap or _one(project, at, Component.KAFKA),
        toxiproxy_url=links.toxiproxy_url(project),
        mongo_database=project.mapping.mongo_database,
    )


def versions(project: Project) -> dict[str, str]:
    """Component -> the version that it says it is, where it says any, and the image that it runs."""
    found: dict[str, str] = {}
    for container in project.look():
        component, address = container.part.component, project.address(container)
        said = _said(component, address) if address and component not in found else ""
        found.setdefault(component.value, f"{said} ({container.image})" if said else container.image)
    return found


def _addresses(project: Project, containers: Iterable[Container], component: Component) -> list[str]:
    playing = (each for each in containers if each.part.component == component)
    return [project.address(each) or _NOWHERE for each in playing]


def _one(project: Project, at: dict[Component, list[str]], component: Component) -> str:
    if not at[component]:
        raise StackError(f"The compose project '{project.name}' has no container that plays {component}")
    return at[component][0]


def _said(component: Component, address: str) -> str:
    try:
        if component == Component.MONGO:
            return str(ask_once(address, {"buildInfo": 1}, within_s=_ASK_S).get("version", ""))
        if component == Component.REDIS:
            url = f"redis://{address}"
            with redis.Redis.from_url(url, socket_timeout=_ASK_S, socket_connect_timeout=_ASK_S) as client:
                return str(client.info("server")["redis_version"])
    except (OSError, redis.RedisError):
        pass
    return ""
