"""What the services of a compose project are to us: labels of the services, or a small mapping file.

The reference stack says it in labels (`feedstorm.component`, `feedstorm.kind`, `feedstorm.port`). For a
project whose compose file should stay as it is, a YAML file says the same:

    services:
      db-a:  {component: mongo, port: 27017}
      cache: {component: redis, port: 6379}
      web:   {component: api, port: 8080}
      jobs:  {component: worker, kind: fanout, port: 9000}
    mongo_database: feedstorm            # optional
    endpoints: {redis_url: "redis://:secret@127.0.0.1:6379/0"}     # optional, where an address is not enough
"""

from collections.abc import Mapping as Labels
from pathlib import Path

import msgspec

from compose.stack import Component, StackError

COMPONENT, KIND, PORT = "feedstorm.component", "feedstorm.kind", "feedstorm.port"


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part that a service plays. `port` is inside the container; None if it listens nowhere."""

    component: Component
    port: int | None = None
    kind: str | None = None


class Overrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Endpoints that cannot be read off the project: with credentials, say, or a database behind a tunnel."""

    mongo_uri: str | None = None
    redis_url: str | None = None
    kafka_bootstrap: str | None = None
    toxiproxy_url: str | None = None


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the mapping file holds. A service that it does not name is taken by its labels."""

    services: dict[str, Part] = {}
    mongo_database: str = "feedstorm"
    endpoints: Overrides = Overrides()

    def part(self, service: str, labels: Labels[str, str]) -> Part | None:
        """What `service` is to us; None if it is nothing. Raises StackError for senseless labels."""
        if service in self.services:
            return self.services[service]
        if COMPONENT not in labels:
            return None
        said = {"component": labels[COMPONENT], "kind": labels.get(KIND), "port": labels.get(PORT)}
        try:
            return msgspec.convert(said, Part, strict=False)
        except msgspec.ValidationError as error:
            raise StackError(f"The labels of service '{service}' are wrong: {error}") from None


def load(path: Path | None) -> Mapping:
    """The mapping in a file; the empty one for None. Raises StackError, naming the place in the file."""
    if path is None:
        return Mapping()
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=Mapping)
    except OSError as error:
        raise StackError(f"The mapping file {path} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise StackError(f"The mapping file {path} is wrong: {error}") from None
