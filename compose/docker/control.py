"""Acts on the containers of a project. Every act is bounded, and done when it is seen to be done."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import docker
import docker.errors

from compose.docker import engine
from compose.docker.project import Container, Project
from compose.stack import StackError, State

_WITHIN_S = 10.0
_TERMINATE_WITHIN_S = 20
_STAYS_DOWN_S = 0.4  # a restart policy that brings a container back does so in 100 ms
_WATCHED_S = 0.1
_KILLED = 137  # the exit code of a process that SIGKILL ended


@dataclass(frozen=True)
class Seat:
    """A container's place in a network: what is needed to put it back there."""

    network: str
    aliases: tuple[str, ...]


class DockerControl:
    """MemberControl over containers, and `disconnect` / `reconnect` for their networks.

    A member is looked up by the labels of its container before every act, so a container that was
    made again, or whose port moved, is never mistaken.
    """

    def __init__(self, client: docker.DockerClient, project: Project) -> None:
        self._api, self._project = client.api, project

    def state(self, name: str) -> State:
        """At most a tenth of a second old: a watcher asks for every member, again and again."""
        seen = self._project.containers(at_most_s_old=_WATCHED_S)
        return next((each.state for each in seen if each.name == name), State.GONE)

    def life(self, name: str) -> str:
        return str(self._details(self._project.need(name))["State"]["StartedAt"])

    def kill(self, name: str) -> None:
        container = self._project.need(name)
        if container.state == State.DOWN:
            return
        with engine.plainly(f"{name} was not killed"):
            self._unfreeze(container)
            self._tolerantly(lambda: self._api.kill(container.id, "SIGKILL"))
        self._wait_down(name)

    def terminate(self, name: str) -> None:
        container = self._project.need(name)
        if container.state == State.DOWN:
            return
        with engine.plainly(f"{name} was not stopped"):
            self._unfreeze(container)
            self._api.stop(container.id, timeout=_TERMINATE_WITHIN_S)
        self._wait_down(name)
        if self._details(container)["State"]["ExitCode"] == _KILLED:
            raise StackError(
                f"{name} did not end within {_TERMINATE_WITHIN_S} s after SIGTERM, and was killed"
            )

    def pause(self, name: str) -> None:
        container = self._project.need(name)
        if container.state == State.DOWN:
            raise StackError(f"{name} is down and cannot be paused")
        if container.state == State.RUNNING:
            with engine.plainly(f"{name} was not paused"):
                self._tolerantly(lambda: self._api.pause(container.id))
        self._wait(name, {State.PAUSED}, "paused")

    def resume(self, name: str) -> None:
        container = self._project.need(name)
        with engine.plainly(f"{name} was not resumed"):
            self._unfreeze(container)
        self._wait(name, {State.RUNNING, State.DOWN}, "resumed")

    def start(self, name: str) -> None:
        container = self._project.need(name)
        if container.state != State.DOWN:
            return
        with engine.plainly(f"{name} was not started"):
            self._api.start(container.id)
        self._wait(name, {State.RUNNING, State.PAUSED}, "started")

    def seats(self, name: str) -> tuple[Seat, ...]:
        """The networks that the member is in now. To be kept before `disconnect`, as its undo."""
        container = self._project.need(name)
        networks = self._details(container)["NetworkSettings"]["Networks"]
        own = container.id[:12]
        return tuple(
            Seat(network, tuple(sorted({*(seat["Aliases"] or ())} - {own})))
            for network, seat in sorted(networks.items())
        )

    def disconnect(self, name: str) -> None:
        """Take the member off every network: it runs on, and nobody reaches it."""
        container = self._project.need(name)
        for seat in self.seats(name):
            with engine.plainly(f"{name} was not taken off the network {seat.network}"):
                self._api.disconnect_container_from_network(container.id, seat.network)

    def reconnect(self, name: str, seats: tuple[Seat, ...]) -> None:
        """Put the member back where it was, under the names that it had."""
        container = self._project.need(name)
        present = {seat.network for seat in self.seats(name)}
        for seat in seats:
            if seat.network not in present:
                with engine.plainly(f"{name} was not put back on the network {seat.network}"):
                    self._api.connect_container_to_network(
                        container.id, seat.network, aliases=list(seat.aliases)
                    )

    def _unfreeze(self, container: Container) -> None:
        """A frozen container takes no signal."""
        if container.state == State.PAUSED:
            self._tolerantly(lambda: self._api.unpause(container.id))

    def _tolerantly(self, act: Callable[[], object]) -> None:
        """Somebody else may have done the same a moment ago: then the engine answers 409, and all is well."""
        try:
            act()
        except docker.errors.APIError as error:
            if error.status_code != 409:
                raise

    def _details(self, container: Container) -> dict[str, Any]:
        with engine.plainly(f"{container.name} cannot be inspected"):
            return dict(self._api.inspect_container(container.id))

    def _state_now(self, name: str) -> State:
        container = self._project.find(name)
        return State.GONE if container is None else container.state

    def _wait_down(self, name: str) -> None:
        """Down, and down to stay: a restart policy would turn a long outage into a short one unseen."""
        self._wait(name, {State.DOWN, State.GONE}, "down")
        time.sleep(_STAYS_DOWN_S)
        if self._state_now(name) not in (State.DOWN, State.GONE):
            raise StackError(
                f"{name} came back by itself: its restart policy undoes the fault; "
                "give the service `restart: unless-stopped` or `no`"
            )

    def _wait(self, name: str, wanted: set[State], what: str) -> None:
        deadline = time.monotonic() + _WITHIN_S
        while (state := self._state_now(name)) not in wanted:
            if time.monotonic() >= deadline:
                raise StackError(f"{name} was not {what} within {_WITHIN_S:g} s (it is {state})")
            time.sleep(0.05)
