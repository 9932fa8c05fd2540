"""The toxics: what each one does to the bytes of a flow. Names and units are Toxiproxy's.

A toxic's attributes are one object for all flows that it applies to, and may change under way.
"""

import asyncio

import msgspec

from compose.embedded.proxy.flow import Flow, HoldingStage, Stage

BANDWIDTH_SLICE_S = 0.1


class Latency(HoldingStage):
    """Everything arrives `latency` ms later, give or take up to `jitter` ms; the order stays."""

    high_water_bytes = 8 << 20

    class Attributes(msgspec.Struct):
        latency: int = 0
        jitter: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic

    def data(self, chunk: bytes) -> None:
        jitter = self._toxic.jitter * self.flow.rng.uniform(-1, 1)
        self.hold(chunk, self.now() + (self._toxic.latency + jitter) / 1000)


class Bandwidth(HoldingStage):
    """Bytes arrive at no more than `rate` KB/s. A rate of 0 lets nothing through."""

    high_water_bytes = 64 << 10

    class Attributes(msgspec.Struct):
        rate: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic
        self._free_at = 0.0

    def data(self, chunk: bytes) -> None:
        if self._toxic.rate <= 0:
            self.hold(chunk, float("inf"))
            return
        bytes_per_s = self._toxic.rate * 1000
        piece_bytes = max(int(bytes_per_s * BANDWIDTH_SLICE_S), 1)
        self._free_at = max(self._free_at, self.now())
        for start in range(0, len(chunk), piece_bytes):
            piece = chunk[start : start + piece_bytes]
            self._free_at += len(piece) / bytes_per_s
            self.hold(piece, self._free_at)


class Timeout(Stage):
    """Nothing arrives any more; the connection closes after `timeout` ms of silence, or never with 0."""

    class Attributes(msgspec.Struct):
        timeout: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic
        self._timer: asyncio.TimerHandle | None = None
        self._restart_timer()

    def data(self, chunk: bytes) -> None:
        self._restart_timer()

    def removed(self) -> None:
        """Bytes are missing from the stream now, so it cannot go on."""
        self.closed()
        self.next.end()

    def closed(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _restart_timer(self) -> None:
        self.closed()
        if self._toxic.timeout > 0:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._toxic.timeout / 1000, lambda: self.next.end())


class ResetPeer(Stage):
    """The connection is reset `timeout` ms after the first bytes; they do not arrive."""

    class Attributes(msgspec.Struct):
        timeout: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic
        self._timer: asyncio.TimerHandle | None = None

    def data(self, chunk: bytes) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._toxic.timeout / 1000, self.flow.reset)

    def end(self) -> None:
        self.data(b"")

    def closed(self) -> None:
        if self._timer:
            self._timer.cancel()

    removed = closed


class SlowClose(HoldingStage):
    """Bytes arrive in time, but that the sender has closed is seen `delay` ms later."""

    class Attributes(msgspec.Struct):
        delay: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic

    def data(self, chunk: bytes) -> None:
        self.next.data(chunk)

    def end(self) -> None:
        self.hold(None, self.now() + self._toxic.delay / 1000)


class Slicer(HoldingStage):
    """Bytes arrive in pieces of `average_size` +- `size_variation` bytes, `delay` microseconds apart."""

    class Attributes(msgspec.Struct):
        average_size: int = 0
        size_variation: int = 0
        delay: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic

    def data(self, chunk: bytes) -> None:
        due = max(self.now(), self.last_due())
        start = 0
        while start < len(chunk):
            size = max(self._toxic.average_size + self._variation(), 1)
            self.hold(chunk[start : start + size], due)
            start += size
            due += self._toxic.delay / 1_000_000

    def _variation(self) -> int:
        most = self._toxic.size_variation
        return self.flow.rng.randint(-most, most) if most > 0 else 0


class LimitData(Stage):
    """The connection closes once `bytes` bytes have passed."""

    class Attributes(msgspec.Struct):
        bytes: int = 0

    def __init__(self, flow: Flow, toxic: Attributes) -> None:
        super().__init__(flow, toxic)
        self._toxic = toxic
        self._passed = 0

    def data(self, chunk: bytes) -> None:
        passing = chunk[: max(self._toxic.bytes - self._passed, 0)]
        self._passed += len(passing)
        if passing:
            self.next.data(passing)
        if self._passed >= self._toxic.bytes:
            self.next.end()


KINDS: dict[str, type[Stage]] = {
    "latency": Latency,
    "bandwidth": Bandwidth,
    "timeout": Timeout,
    "reset_peer": ResetPeer,
    "slow_close": SlowClose,
    "slicer": Slicer,
    "limit_data": LimitData,
}
