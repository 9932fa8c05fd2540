"""One member of the replica set: its role, and what it says about the topology.

`advertised` is the name by which clients know a member. It may be a proxy's address, so that no traffic
goes around the proxy.
"""

import asyncio
import itertools
import random
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime

from bson import Int64, ObjectId, Timestamp

from compose.embedded.mongo import wire
from compose.embedded.mongo.client import StoreClient, StoreLostError
from compose.embedded.mongo.election import Election, Role
from compose.embedded.mongo.register import StoreRegister

SET_NAME = "rs0"
STORE_RETRY_S = 0.1
# What a member says of its limits until it has heard the store's own.
DEFAULT_LIMITS: wire.Document = {
    "maxBsonObjectSize": 16 * 1024 * 1024,
    "maxMessageSizeBytes": wire.MAX_MESSAGE_BYTES,
    "maxWriteBatchSize": 100_000,
    "maxWireVersion": 21,
}


class Member:
    """The state of one member. `connection.py` serves its clients, `answers.py` holds its replies."""

    def __init__(
        self, advertised: str, members: tuple[str, ...], store: str, *, election_s: float, heartbeat_s: float
    ) -> None:
        self.advertised, self.members, self.store_address = advertised, members, store
        self.heartbeat_s = heartbeat_s
        self._store = StoreClient(store, within_s=election_s)
        self.election = Election(advertised, members, election_s, StoreRegister(self._store))
        self.primary: str | None = None
        self.store_ok = False
        self._lease_until = 0.0
        # A topologyVersion: a new process id per start, a counter that grows with every visible change.
        self._process_id, self.changes = ObjectId(), 0
        self.watchers: set[asyncio.Event] = set()
        self.message_ids, self.connection_ids = itertools.count(1), itertools.count(1)
        self._limits = DEFAULT_LIMITS

    @property
    def is_primary(self) -> bool:
        return self.primary == self.advertised and self.store_ok and time.monotonic() < self._lease_until

    @property
    def is_secondary(self) -> bool:
        return self.store_ok and self.primary != self.advertised

    def topology_version(self) -> wire.Document:
        return {"processId": self._process_id, "counter": Int64(self.changes)}

    def is_current(self, version: wire.Document) -> bool:
        """Whether a client that knows `version` knows the newest."""
        return version.get("processId") == self._process_id and version.get("counter") == self.changes

    def hello(self, command: wire.Document, connection_id: int) -> wire.Document:
        """The reply to `hello` and to its older names."""
        is_primary, legacy = self.is_primary, next(iter(command), "").lower() == "ismaster"
        reply: wire.Document = {"helloOk": True} if command.get("helloOk") else {}
        reply |= {
            "ismaster" if legacy else "isWritablePrimary": is_primary,
            "secondary": self.is_secondary,
            "topologyVersion": self.topology_version(),
            "setName": SET_NAME,
            "setVersion": 1,
            "hosts": list(self.members),
            "me": self.advertised,
        }
        if self.primary and (is_primary or self.primary != self.advertised):
            reply["primary"] = self.primary
        if is_primary:  # drivers tell an old primary from a new one by this: it grows with every term
            reply["electionId"] = ObjectId(f"7fffffff{self.election.held_term:016x}")
        return reply | self._clock_fields() | self._limits | {"connectionId": connection_id, "ok": 1.0}

    def _clock_fields(self) -> wire.Document:
        now = datetime.now(UTC)
        operation = {"ts": Timestamp(int(time.time()), 1), "t": Int64(self.election.standing.term)}
        return {
            "lastWrite": {
                "opTime": operation,
                "lastWriteDate": now,
                "majorityOpTime": operation,
                "majorityWriteDate": now,
            },
            "localTime": now,
            "logicalSessionTimeoutMinutes": 30,
            "minWireVersion": 0,
            "readOnly": False,
        }

    async def run(self) -> None:
        """Keep the heartbeat going, for ever."""
        while True:
            term_before = self.election.held_term
            try:
                role = await self.election.tick()
                if self.election.held_term > term_before:
                    await self._take_over()
                self._publish(role, store_ok=True)
                await asyncio.sleep(self.heartbeat_s * random.uniform(0.8, 1.2))
            except StoreLostError:
                self._publish(Role(self.primary, self._lease_until), store_ok=False)
                await asyncio.sleep(STORE_RETRY_S)

    async def _take_over(self) -> None:
        """What a new primary does first: end the open transactions of the old one, as mongod does."""
        await self._store.ask({"killAllSessions": [], "$db": "admin"})

    async def learn_limits(self) -> None:
        """Ask the store what it can take, as soon as it answers."""
        while self._limits is DEFAULT_LIMITS:
            with suppress(StoreLostError):
                reply = await self._store.ask({"hello": 1, "$db": "admin"})
                self._limits = {name: reply[name] for name in DEFAULT_LIMITS if name in reply}
                return
            await asyncio.sleep(STORE_RETRY_S)

    async def step_down(self, for_s: float) -> None:
        await self.election.give_up(for_s)
        self._publish(Role(None), store_ok=self.store_ok)

    def _publish(self, role: Role, *, store_ok: bool) -> None:
        """Take on a role; whoever waits for a change of the topology is told when there is one."""
        self._lease_until = role.lease_until
        if (role.primary, store_ok) == (self.primary, self.store_ok):
            return
        self.primary, self.store_ok = role.primary, store_ok
        self.changes += 1
        term, store = self.election.standing.term, "up" if store_ok else "down"
        say(f"{self.advertised}: term {term}, primary {role.primary or 'none'}, store {store}")
        for watcher in self.watchers:
            watcher.set()


def say(line: str) -> None:
    print(datetime.now(UTC).isoformat(timespec="milliseconds"), line, file=sys.stderr, flush=True)  # noqa: T201
