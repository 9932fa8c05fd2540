"""A member of a consumer group that nothing is given to any more."""

import asyncio
import math
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

    def highwater(self, _partition: str) -> int | None:
        return None

    def position(self, _partition: str, timeout_ms: int) -> int:
        return 0


class HalfRead(Consumer):
    """Five records came in one batch and two of them were handled; the broker takes 1 for the end."""

    def end_offsets(self, partitions: Sequence[str], timeout_ms: int) -> dict[str, int]:
        return dict.fromkeys(partitions, 1)

    def highwater(self, _partition: str) -> int | None:
        return 5

    def position(self, _partition: str, timeout_ms: int) -> int:
        return 2


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


def test_a_member_without_partitions_does_not_know_what_is_left() -> None:
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    assert math.isnan(member._measure(Consumer(-1)))


def test_the_rest_of_a_batch_is_backlog_whatever_the_broker_takes_for_the_end() -> None:
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    assert member._measure(HalfRead(1)) == 3
