"""Acts on containers: all that can be done to a process, and taking a member off its networks."""

import msgspec

from chaos.drivers.process import ProcessDriver
from chaos.drivers.throttle import Throttles
from compose.docker.control import DockerControl, Seat
from compose.stack import Stack


class DockerDriver(ProcessDriver):
    """What `ProcessDriver` can, and CanIsolate."""

    name = "docker"

    def __init__(
        self, stack: Stack, control: DockerControl, throttles: Throttles, allowed_hosts: tuple[str, ...] = ()
    ) -> None:
        super().__init__(stack, throttles, allowed_hosts)
        self._containers = control

    def seats(self, name: str) -> str:
        return msgspec.json.encode(self._containers.seats(self._own(name).name)).decode()

    def isolate(self, name: str) -> None:
        self._containers.disconnect(self._own(name).name)

    def rejoin(self, name: str, seats: str) -> None:
        self._containers.reconnect(name, msgspec.json.decode(seats, type=tuple[Seat, ...]))

    def is_isolated(self, name: str) -> bool:
        return not self._containers.seats(name)
