"""Acts on a stack's members: the stack's own control, plus what a server can be told to do.

The same driver serves every stack, because `compose.stack.MemberControl` hides how a member is
signalled. It refuses to touch anything that is not on this machine unless that was allowed by name.
"""

from chaos.drivers import commands, throttle
from chaos.drivers.safety import refuse_strangers
from compose.stack import Component, Member, Stack, State


class ProcessDriver:
    """CanKill, CanTerminate, CanPause, CanStarve, CanStepDown, CanFlush, CanRefuseWrites."""

    name = "process"

    def __init__(
        self, stack: Stack, throttles: throttle.Throttles, allowed_hosts: tuple[str, ...] = ()
    ) -> None:
        self._stack, self._control = stack, stack.control
        self._throttles, self._allowed_hosts = throttles, allowed_hosts

    def state(self, name: str) -> State:
        return self._control.state(name)

    def life(self, name: str) -> str:
        return self._control.life(name)

    def kill(self, name: str) -> None:
        self._control.kill(self._own(name).name)

    def terminate(self, name: str) -> None:
        self._control.terminate(self._own(name).name)

    def start(self, name: str) -> None:
        self._control.start(self._own(name).name)

    def pause(self, name: str) -> None:
        self._control.pause(self._own(name).name)

    def resume(self, name: str) -> None:
        self._control.resume(self._own(name).name)

    def starve(self, name: str, share: float, token: str) -> None:
        self._throttles.begin(self._own(name).name, share, token)

    def feed(self, name: str, token: str) -> None:
        self._throttles.end(token)
        self._control.resume(name)

    def is_starved(self, name: str, token: str) -> bool:
        return self._throttles.is_at_work(token)

    def step_down(self, name: str, for_s: float) -> None:
        commands.step_down(self._address(name, Component.MONGO), for_s)

    def primary(self) -> str | None:
        return self._stack.primary()

    def flush(self, name: str) -> None:
        commands.flush(self._address(name, Component.REDIS))

    def key_count(self, name: str) -> int:
        return commands.key_count(self._address(name, Component.REDIS))

    def refuse_writes(self, name: str) -> None:
        commands.refuse_writes(self._address(name, Component.REDIS))

    def accept_writes(self, name: str) -> None:
        commands.accept_writes(self._address(name, Component.REDIS))

    def accepts_writes(self, name: str) -> bool:
        return commands.accepts_writes(self._address(name, Component.REDIS))

    def _own(self, name: str) -> Member:
        member = next(member for member in self._stack.members if member.name == name)
        if member.address:
            refuse_strangers(member.address, self._allowed_hosts)
        return member

    def _address(self, name: str, component: Component) -> str:
        return commands.address_of(self._own(name), component)
