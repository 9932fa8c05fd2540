"""Every claim, in the order in which they are put to the test."""

from collections.abc import Sequence
from typing import Final

from chaos.claims import (
    array_wall,
    buffered_likes,
    coalescing,
    counters,
    cursor,
    fan_out,
    hot_key,
    replay,
    sharded_counter,
)
from chaos.claims.evidence import Claim
from chaos.errors import UsageError
from chaos.units import suggest

CLAIMS: Final[tuple[Claim, ...]] = (
    array_wall.CLAIM,
    counters.CLAIM,
    cursor.CLAIM,
    fan_out.CLAIM,
    coalescing.CLAIM,
    buffered_likes.CLAIM,
    replay.CLAIM,
    hot_key.MEMORY_CLAIM,
    hot_key.COPIES_CLAIM,
    sharded_counter.REDIS_CLAIM,
    sharded_counter.MONGO_CLAIM,
)
"""Those that need more than one server to hold come last, in case the time does not suffice."""


def find(names: Sequence[str]) -> list[Claim]:
    """The claims of these names, or all. Raises UsageError."""
    by_name = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in by_name:
            raise UsageError(f"no claim '{name}'{suggest(name, by_name)}")
    return [claim for claim in CLAIMS if not names or claim.name in names]
