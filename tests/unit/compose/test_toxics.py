"""Flows and toxics without sockets."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compose.embedded.proxy.flow import Flow
from compose.embedded.proxy.proxies import ProxyError, Toxic
from compose.embedded.proxy.toxics import KINDS
from compose.waiting import wait_until


class FakeTransport(asyncio.Transport):
    """Remembers what was done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_closed, self.reads = b"", False, True

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        assert self.reads
        self.reads = False

    def resume_reading(self) -> None:
        assert not self.reads
        self.reads = True


class Rig:
    """A flow between two fake sockets."""

    def __init__(self) -> None:
        self.source, self.sink, self.resets = FakeTransport(), FakeTransport(), 0
        self.flow = Flow(self.source, self.sink, random.Random(1), self._reset)

    def _reset(self) -> None:
        self.resets += 1

    def put(self, kind: str, **attributes: int) -> Any:
        toxic = KINDS[kind].Attributes(**attributes)
        self.flow.put(kind, KINDS[kind](self.flow, toxic))
        return toxic


lossless = st.sampled_from(
    [
        ("latency", {"latency": 2, "jitter": 2}),
        ("bandwidth", {"rate": 5000}),
        ("slicer", {"average_size": 7, "size_variation": 5, "delay": 10}),
        ("slow_close", {"delay": 3}),
    ]
)


@given(
    chain=st.lists(lossless, unique_by=lambda toxic: toxic[0], max_size=4),
    chunks=st.lists(st.binary(min_size=1, max_size=60), max_size=8),
    removed=st.sampled_from(["latency", "slicer", "nothing"]),
)
@settings(max_examples=60, deadline=None)
def test_toxics_that_lose_nothing_keep_all_bytes_in_order(
    chain: list[tuple[str, dict[str, int]]], chunks: list[bytes], removed: str
) -> None:
    async def play() -> None:
        rig = Rig()
        for kind, attributes in chain:
            rig.put(kind, **attributes)
        for number, chunk in enumerate(chunks):
            rig.flow.data(chunk)
            if number == 2:
                rig.flow.take_out(removed)
        rig.flow.end()
        await wait_until(lambda: rig.sink.is_closed, "the end of the flow", within_s=5, every_s=0.001)
        assert rig.sink.written == b"".join(chunks)

    asyncio.run(play())


async def test_without_toxics_bytes_go_straight_on() -> None:
    rig = Rig()
    rig.flow.data(b"x")
    assert (rig.sink.written, rig.flow.bytes) == (b"x", 1)
    rig.flow.end()
    assert rig.sink.is_closed


async def test_a_flow_that_holds_too_much_stops_reading_until_it_drains() -> None:
    rig = Rig()
    rig.put("bandwidth", rate=1000)
    for _ in range(10):
        rig.flow.data(b"x" * 10_000)
    assert not rig.source.reads
    await wait_until(lambda: rig.source.reads, "reading again", within_s=2)
    assert len(rig.sink.written) < 100_000
    rig.flow.take_out("bandwidth")
    assert len(rig.sink.written) == 100_000


async def test_a_full_sink_stops_reading() -> None:
    rig = Rig()
    rig.flow.sink_is_full(full=True)
    assert not rig.source.reads
    rig.flow.sink_is_full(full=False)
    assert rig.source.reads


async def test_a_rate_of_zero_lets_nothing_through_until_it_changes() -> None:
    rig = Rig()
    rig.put("bandwidth", rate=0)
    rig.flow.data(b"held")
    await asyncio.sleep(0.02)
    assert rig.sink.written == b""
    rig.flow.take_out("bandwidth")
    assert rig.sink.written == b"held"


async def test_reset_peer_resets_once_after_the_first_bytes() -> None:
    rig = Rig()
    rig.put("reset_peer", timeout=10)
    rig.flow.data(b"a")
    rig.flow.data(b"b")
    await asyncio.sleep(0.05)
    assert (rig.resets, rig.sink.written) == (1, b"")


async def test_a_closed_flow_has_no_timers_left() -> None:
    rig = Rig()
    for kind in ("latency", "timeout", "reset_peer", "slow_close"):
        rig.put(kind, **dict.fromkeys(KINDS[kind].Attributes.__struct_fields__, 10))
    rig.flow.data(b"x")
    rig.flow.closed()
    await asyncio.sleep(0.05)
    assert (rig.sink.written, rig.sink.is_closed, rig.resets) == (b"", False, 0)


def test_attributes_keep_what_is_not_named_and_refuse_what_makes_no_sense() -> None:
    toxic = Toxic.new("latency", "", "upstream", 1.0, {"latency": 5})
    toxic.update(0.5, {"jitter": 2})
    assert toxic.as_json() == {
        "name": "latency_upstream",
        "type": "latency",
        "stream": "upstream",
        "toxicity": 0.5,
        "attributes": {"latency": 5, "jitter": 2},
    }
    with pytest.raises(ProxyError, match="bad request body"):
        toxic.update(None, {"latency": "long"})
    assert toxic.as_json()["attributes"] == {"latency": 5, "jitter": 2}
