"""A member of a consumer group that nothing is given to any more."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from reference_app.settings import Settings
from reference_app.stores.kafka import source
from reference_app.stores.kafka.source import KafkaSource


class Consumer:
    """Polls in vain; has partitions in its first `polls` polls."""

    def __init__(self, polls: int) -> None:
        self._polls = polls

    def poll(self, timeout_ms: int) -> dict[Any, Any]:
        self._polls -= 1
        time.sleep(timeout_ms / 1000 / 20)
        return {}

    def assignment(self) -> set[str]:
        return {"posts-0"} if self._polls >= 0 else set()

    def end_offsets(self, partitions: Sequence[str], timeout_ms: int) -> dict[str, int]:
        return dict.fromkeys(partitions, 0)

    def position(self, _partition: str, timeout_ms: int) -> int:
        return 0


async def _nothing(_values: Sequence[bytes]) -> None:
    """A handler that is never called."""


@pytest.mark.parametrize("polls", [0, 5])
async def test_it_joins_the_group_anew(polls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_LEFT_OUT_S", (0.2, 0.3))
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    began = time.monotonic()
    with pytest.raises(Exception, match=r"no partitions for 0 s"):
        await asyncio.to_thread(member._consume, Consumer(polls), _nothing, asyncio.get_running_loop())
    assert time.monotonic() - began >= 0.2
    assert not member.has_partitions


async def test_a_member_with_partitions_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_LEFT_OUT_S", (0.05, 0.05))
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    consuming = asyncio.create_task(
        asyncio.to_thread(member._consume, Consumer(1_000_000), _nothing, asyncio.get_running_loop())
    )
    await asyncio.sleep(0.3)
    assert not consuming.done()
    await member.close()
    await consuming
