"""How experiments measure: ways to do a thing take turns, so that a busy moment hits all of them alike."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from chaos.claims.evidence import Samples

Way: TypeAlias = Callable[[], Awaitable[Any]]
ROUNDS = 11
_ENOUGH = 5
"""Rounds that are always taken; more only while there is time."""
_WITHIN_S = 4.0


async def clock(way: Way) -> float:
    """How many seconds it takes once."""
    began = time.perf_counter()
    await way()
    return time.perf_counter() - began


async def take_turns(ways: Mapping[str, Way], *, rounds: int = ROUNDS, per: int = 1) -> dict[str, Samples]:
    """Time every way up to `rounds` times, in an order that is turned round each time.

    `per` is how many things one call does: the samples are seconds per thing. A first round, in which
    connections are opened and caches filled, is not counted.
    """
    values: dict[str, list[float]] = {label: [] for label in ways}
    labels = list(ways)
    for label in labels:
        await ways[label]()
    ends = time.monotonic() + _WITHIN_S
    for number in range(rounds):
        if number >= _ENOUGH and time.monotonic() > ends:
            break
        for label in labels if number % 2 == 0 else reversed(labels):
            values[label].append(await clock(ways[label]) / per)
    return {label: Samples(label, "s", values[label]) for label in labels}
