"""The embedded stack: bringing it up, finding it again, taking it down."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compose import ready
from compose.embedded.bringup import PortTakenError, await_primary, await_ready, bring_up, prepare_home
from compose.embedded.control import EmbeddedControl
from compose.embedded.parts import Finder, find_parts
from compose.embedded.plan import plan, ports_needed
from compose.embedded.ports import NoFreePortError, free_ports
from compose.embedded.state import StackFile, StackRecord
from compose.embedded.teardown import take_down
from compose.stack import Component, Endpoints, Link, Member, StackError, StackOptions

HOME_VARIABLE = "FEEDSTORM_HOME"
DEFAULT_HOME = ".feedstorm"
PORT_ATTEMPTS = 3


def default_home() -> Path:
    """`$FEEDSTORM_HOME`, or `.feedstorm` in the current directory."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME)


class EmbeddedStack:
    """The stack as processes of this machine, described by `<home>/stack.json` to any later command.

    `app_env` is the application's settings, for whoever runs one of its commands on this stack.
    """

    kind = "embedded"
    id: str
    limits: tuple[str, ...]
    members: tuple[Member, ...]
    links: tuple[Link, ...]
    endpoints: Endpoints
    app_env: dict[str, str]

    def __init__(self, home: Path, record: StackRecord, finder: Finder = find_parts) -> None:
        self.home, self.options = home, record.options
        self._file, self._finder = StackFile(home), finder
        self.control = EmbeddedControl(self._file)
        self._take(record)

    @classmethod
    def create(
        cls, home: Path | None = None, options: StackOptions | None = None, *, finder: Finder = find_parts
    ) -> "EmbeddedStack":
        """A stack that is yet to be brought up. Raises StackError if a part of it is missing."""
        home = (home or default_home()).resolve()
        return cls(home, _new_record(home, options or StackOptions(), finder), finder)

    @classmethod
    def attach(cls, home: Path | None = None) -> "EmbeddedStack | None":
        """The stack that an earlier command brought up, or what is left of it; None if there is none."""
        home = (home or default_home()).resolve()
        record = StackFile(home).read()
        return cls(home, record) if record else None

    async def up(self) -> None:
        """Start every member and wait until the stack is ready.

        Raises:
            StackError: the stack is up already, or did not come up; then nothing of it is left running.
        """
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self._claim_home()
            try:
                await bring_up(self._file, self._record)
                return
            except PortTakenError:
                await self._give_up()
                if attempt == PORT_ATTEMPTS:
                    raise
                self._take(_new_record(self.home, self.options, self._finder))
            except BaseException:
                await self._give_up()
                raise

    async def wait_ready(self, names: tuple[str, ...] | None = None, *, within_s: float = 60.0) -> None:
        members = [member for member in self._record.members if names is None or member.name in names]
        await await_ready(self._file, members, within_s, may_be_down=True)
        if names is None:
            await await_primary(self._record, within_s)

    async def down(self) -> None:
        """Kill every member, delete their data, and forget the stack. The logs stay."""
        await asyncio.to_thread(take_down, self._file)

    async def _give_up(self) -> None:
        await asyncio.to_thread(take_down, self._file, self._record.id)

    def primary(self) -> str | None:
        mongo = [member for member in self._record.members if member.component is Component.MONGO]
        with ThreadPoolExecutor(len(mongo)) as pool:
            answers = pool.map(ready.says_primary, [member.address for member in mongo])
            return next((member.name for member, yes in zip(mongo, answers, strict=True) if yes), None)

    def versions(self) -> dict[str, str]:
        return dict(self._record.versions)

    def _take(self, record: StackRecord) -> None:
        self._record, self.id = record, record.id
        self.limits, self.links, self.endpoints = record.limits, record.links, record.endpoints
        self.members = tuple(member.as_member() for member in record.members)
        self.app_env = dict(record.app_env)

    def _claim_home(self) -> None:
        """Put the stack's record where there is none of a living stack."""
        with self._file.locked() as existing:
            if existing and existing.alive:
                raise StackError(
                    f"a stack is already up in {self.home}: {len(existing.alive)} of its "
                    f"{len(existing.members)} members run, since {existing.started_at}; "
                    "use it, or take it down first with `feedstorm down`"
                )
            prepare_home(self.home, self._record)
            self._file.write(self._record)


def _new_record(home: Path, options: StackOptions, finder: Finder) -> StackRecord:
    try:
        ports = free_ports(ports_needed(options))
    except NoFreePortError as error:
        raise StackError(f"the stack has no ports to listen on: {error}") from error
    return plan(home, Path.cwd(), options, finder(), ports)
