"""Posts that this process knows of: the newest are the hottest, and their heat is Zipf's. Bounded."""

import random
from collections import deque
from itertools import accumulate
from typing import Final

KEPT: Final = 256
_ZIPF: Final = list(accumulate(1 / rank for rank in range(1, KEPT + 1)))


class HotPosts:
    """Celebrities' posts go before all others, so that what everybody likes is what everybody sees."""

    def __init__(self) -> None:
        self._viral: deque[str] = deque(maxlen=16)
        self._others: deque[str] = deque(maxlen=KEPT - 16)

    def add(self, post: str, *, viral: bool = False) -> None:
        (self._viral if viral else self._others).appendleft(post)

    def __len__(self) -> int:
        return len(self._viral) + len(self._others)

    def pick(self, rng: random.Random) -> str | None:
        """A post by its heat; None while none is known."""
        known = len(self)
        if not known:
            return None
        rank = rng.choices(range(known), cum_weights=_ZIPF[:known])[0]
        return self._viral[rank] if rank < len(self._viral) else self._others[rank - len(self._viral)]
