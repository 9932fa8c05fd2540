"""One direction of one connection, and what a toxic may do with the bytes in it."""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import msgspec


class Sink(Protocol):
    """Where bytes go: the next stage, or the socket at the end of a flow."""

    def data(self, chunk: bytes) -> None: ...

    def end(self) -> None:
        """The sender has closed: nothing follows."""


class Stage:
    """One toxic at work in one flow. Subclasses pass bytes on late, in part, or not at all.

    `toxic` has the attributes of a subclass's `Attributes`.
    """

    Attributes: ClassVar[type[msgspec.Struct]]
    high_water_bytes: ClassVar[int] = 1 << 20  # holding more than that stops reading from the sender

    next: Sink

    def __init__(self, flow: "Flow", toxic: Any) -> None:
        self.flow = flow
        self.held_bytes = 0

    def data(self, chunk: bytes) -> None:
        self.next.data(chunk)

    def end(self) -> None:
        self.next.end()

    def removed(self) -> None:
        """The toxic has been taken out: pass on what is held, and stop every timer."""

    def closed(self) -> None:
        """The connection is gone: stop every timer."""


class HoldingStage(Stage):
    """A stage that keeps bytes in order until their time has come."""

    def __init__(self, flow: "Flow", toxic: Any) -> None:
        super().__init__(flow, toxic)
        self._loop = asyncio.get_running_loop()
        self._held: deque[tuple[float, bytes | None]] = deque()  # None: the sender has closed
        self._timer: asyncio.TimerHandle | None = None

    def now(self) -> float:
        return self._loop.time()

    def last_due(self) -> float:
        return self._held[-1][0] if self._held else 0.0

    def hold(self, chunk: bytes | None, due: float) -> None:
        """Pass `chunk` on at `due` (the loop's clock), but never before what was held earlier."""
        self._held.append((max(due, self.last_due()), chunk))
        self.held_bytes += len(chunk or b"")
        if self._timer is None:
            self._release()
        self.flow.adjust_reading()

    def end(self) -> None:
        self.hold(None, 0.0)

    def removed(self) -> None:
        self.closed()
        while self._held:
            self._pass_on()

    def closed(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _release(self) -> None:
        self._timer = None
        while self._held and self._held[0][0] <= self.now():
            self._pass_on()
        if self._held:
            self._timer = self._loop.call_at(self._held[0][0], self._release)
        self.flow.adjust_reading()

    def _pass_on(self) -> None:
        _, chunk = self._held.popleft()
        if chunk is None:
            self.next.end()
        else:
            self.held_bytes -= len(chunk)
            self.next.data(chunk)


class Flow:
    """The stages of one direction, in the order in which their toxics were added, and the socket behind them.

    `reset` tears the whole connection down with a TCP reset.
    """

    def __init__(
        self,
        source: asyncio.Transport,
        sink: asyncio.Transport,
        rng: random.Random,
        reset: Callable[[], None],
    ) -> None:
        self.rng, self.reset = rng, reset
        self.bytes = 0
        self._source = source
        self._stages: dict[str, Stage] = {}
        self._last = SocketSink(sink)
        self._first: Sink = self._last
        self._sink_is_full = self._is_paused = False

    def data(self, chunk: bytes) -> None:
        self.bytes += len(chunk)
        self._first.data(chunk)

    def end(self) -> None:
        self._first.end()

    def put(self, name: str, stage: Stage) -> None:
        self._stages[name] = stage
        self._connect()

    def take_out(self, name: str) -> None:
        stage = self._stages.get(name)
        if stage:
            stage.removed()
            del self._stages[name]
            self._connect()
            self.adjust_reading()

    def closed(self) -> None:
        for stage in self._stages.values():
            stage.closed()

    def sink_is_full(self, *, full: bool) -> None:
        self._sink_is_full = full
        self.adjust_reading()

    def adjust_reading(self) -> None:
        """Read from the sender only while what was read can go somewhere."""
        is_full = self._sink_is_full or any(
            stage.held_bytes > stage.high_water_bytes for stage in self._stages.values()
        )
        if is_full != self._is_paused and not self._source.is_closing():
            self._is_paused = is_full
            if is_full:
                self._source.pause_reading()
            else:
                self._source.resume_reading()

    def _connect(self) -> None:
        sinks: list[Sink] = [*self._stages.values(), self._last]
        for stage, sink in zip(self._stages.values(), sinks[1:], strict=True):
            stage.next = sink
        self._first = sinks[0]


class SocketSink:
    """The end of a flow."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def data(self, chunk: bytes) -> None:
        self._transport.write(chunk)

    def end(self) -> None:
        """Close, once everything is sent. As Toxiproxy does, in both directions."""
        self._transport.close()
