"""A member of a consumer group that nothing is given to any more."""

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from compose.waiting import wait_until
from reference_app.settings import Settings
from reference_app.stores.kafka import source
from reference_app.stores.kafka.source import Holding, KafkaSource


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

    def partitions_for_topic(self, _topic: str) -> set[int]:
        return {0, 1}

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
    assert not member.holding.partitions


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


class Silent(Consumer):
    """The broker does not answer any more."""

    def partitions_for_topic(self, _topic: str) -> set[int]:
        raise KafkaTimeoutError

    end_offsets = partitions_for_topic  # type: ignore[assignment]


def test_a_member_without_partitions_has_nothing_before_it_and_says_that_it_reads_nothing() -> None:
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    assert member._measure(Consumer(-1)) == Holding(backlog=0, partitions=0, of=2)


@pytest.mark.parametrize("polls", [-1, 1])
def test_without_the_broker_what_is_left_is_not_known_and_the_number_of_partitions_is_kept(
    polls: int,
) -> None:
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    assert math.isnan(member.holding.backlog)
    assert member.holding.of == 0
    member.holding = member._measure(Consumer(1))
    assert member.holding == Holding(backlog=0, partitions=1, of=2)
    backlog, partitions, of = member._measure(Silent(polls))
    assert math.isnan(backlog)
    assert (partitions, of) == (max(0, polls), 2)


async def test_what_it_was_given_is_told_at_once() -> None:
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    consuming = asyncio.create_task(
        asyncio.to_thread(member._consume, Consumer(20), _nothing, asyncio.get_running_loop())
    )
    await wait_until(lambda: member.holding.partitions == 1, "partitions", within_s=5, every_s=0.001)
    await wait_until(lambda: member.holding.partitions == 0, "no partitions", within_s=0.9, every_s=0.001)
    await member.close()
    await consuming


def test_the_rest_of_a_batch_is_backlog_whatever_the_broker_takes_for_the_end() -> None:
    member = KafkaSource(Settings(), "posts", "fanout", batch=10)
    assert member._measure(HalfRead(1)).backlog == 3
