"""One client's connection to a member: answered here, refused here, or passed to the store as it is.

Every client connection has a store connection of its own, so cursors, sessions and request ids mean the
same on both sides and the bytes pass unchanged in both directions. A driver never has two requests that
await a reply under way on one connection, so a reply of the store and one made here cannot overtake
each other.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, cast

import bson

from compose.embedded.mongo import answers, wire
from compose.embedded.mongo.client import split_address
from compose.embedded.mongo.member import Member

HIGH_WATER_BYTES = 1 << 20
LONGEST_AWAIT_S = 600.0


class ClientConnection(asyncio.Protocol):
    """The client's side."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._id = next(member.connection_ids)
        self._frames = wire.Frames()
        self._tasks: set[asyncio.Task[None]] = set()
        self._upstream: StoreConnection | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()
        if self._upstream:
            self._upstream.close()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._handle(frame)
        except (wire.ProtocolError, bson.errors.BSONError, ValueError, IndexError):
            self.transport.abort()  # as mongod does with what it cannot read

    def pause_writing(self) -> None:
        if self._upstream:
            self._upstream.pause_reading()

    def resume_writing(self) -> None:
        if self._upstream:
            self._upstream.resume_reading()

    def _handle(self, frame: bytes) -> None:
        opcode = wire.opcode(frame)
        if opcode == wire.OP_QUERY:
            self._handle_legacy(frame)
        elif opcode != wire.OP_MSG:
            raise wire.ProtocolError(f"opcode {opcode}")
        else:
            self._handle_message(frame)

    def _handle_legacy(self, frame: bytes) -> None:
        command = wire.query_command(frame)
        if next(iter(command), "") in answers.HELLO:
            reply = self._member.hello(command, self._id)
        else:
            reply = answers.error(352, "UnsupportedOpQueryCommand", "send this command as OP_MSG")
        self.transport.write(wire.legacy_reply(reply, next(self._member.message_ids), wire.request_id(frame)))

    def _handle_message(self, frame: bytes) -> None:
        name, raw = wire.command(frame)
        about_topology = answers.is_about_topology(name)
        # The command is decoded only where the answer depends on it: not on the hot path of a primary.
        if not about_topology and self._member.is_primary:
            self._pass_on(frame)
            return
        command = bson.decode(raw)
        if about_topology:
            self._answer_about_topology(frame, name, command)
        elif (refusal := answers.refusal(self._member, name, command)) is not None:
            self._reply(frame, refusal)
        else:
            self._pass_on(frame)

    def _answer_about_topology(self, frame: bytes, name: str, command: wire.Document) -> None:
        if name not in answers.HELLO:
            self._start(self._answer_replica_set(frame, name, command))
        elif "topologyVersion" in command and "maxAwaitTimeMS" in command:
            self._start(self._await_change(frame, command))
        else:
            self._reply(frame, self._member.hello(command, self._id))

    async def _answer_replica_set(self, frame: bytes, name: str, command: wire.Document) -> None:
        try:
            self._reply(frame, await answers.answer(self._member, name, command))
        except OSError:
            self.transport.abort()  # the store is gone, and with it all that this member could say

    async def _await_change(self, frame: bytes, command: wire.Document) -> None:
        """Answer an awaitable hello once the topology is not what the client knows, or its time is up.

        With `exhaustAllowed` the answers go on, each one as if the client had asked for it by the one
        before. The client ends that by closing the connection, which cancels this task.
        """
        known, wait_s = command["topologyVersion"], float(command["maxAwaitTimeMS"]) / 1000
        response_to, streaming = wire.request_id(frame), wire.Flag.EXHAUST_ALLOWED in wire.flags(frame)
        changed = asyncio.Event()
        self._member.watchers.add(changed)
        try:
            while True:
                changed.clear()
                if self._member.is_current(known):
                    with suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), min(wait_s, LONGEST_AWAIT_S))
                message_id = next(self._member.message_ids)
                reply = self._member.hello(command, self._id)
                flag_bits = wire.Flag.MORE_TO_COME if streaming else 0
                self.transport.write(wire.message(reply, message_id, response_to, flag_bits))
                if not streaming:
                    return
                known, response_to = reply["topologyVersion"], message_id
        finally:
            self._member.watchers.discard(changed)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reply(self, frame: bytes, document: wire.Document) -> None:
        if wire.Flag.MORE_TO_COME not in wire.flags(frame):
            self.transport.write(
                wire.message(document, next(self._member.message_ids), wire.request_id(frame))
            )
        elif not document["ok"]:
            self.transport.close()  # an unacknowledged write wants no reply: nothing else tells its sender

    def _pass_on(self, frame: bytes) -> None:
        if self._upstream is None:
            self._upstream = StoreConnection(self)
            self._start(self._upstream.open(self._member.store_address))
        self._upstream.send(frame)


class StoreConnection(asyncio.Protocol):
    """The store's side of a client's connection. When it closes, so does the client's."""

    def __init__(self, client: ClientConnection) -> None:
        self._client = client
        self._waiting: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    async def open(self, address: str) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, *split_address(address))
        except OSError:
            self._client.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self._transport.writelines(self._waiting)
        self._waiting.clear()

    def send(self, frame: bytes) -> None:
        if self._transport is None:
            self._waiting.append(frame)
        else:
            self._transport.write(frame)

    def data_received(self, data: bytes) -> None:
        self._client.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.transport.close()

    def pause_writing(self) -> None:
        self._client.transport.pause_reading()

    def resume_writing(self) -> None:
        self._client.transport.resume_reading()

    def pause_reading(self) -> None:
        if self._transport:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport:
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport:
            self._transport.close()
