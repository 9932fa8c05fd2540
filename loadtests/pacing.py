"""When ops are meant to start: a pure function of time, tested without a clock.

The pacer integrates the rate over time and lets an arrival fall due whenever the integral has grown
by the next gap: gaps of exactly 1 give even spacing, exponential gaps a Poisson process, also while
the rate changes (Cinlar 1975, "time-scale transformation").
"""

import math
import random
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

Spacing: TypeAlias = Literal["poisson", "even"]
STEP_S: Final = 0.1
"""The rate is taken as constant over steps of this length."""


class Pacer:
    """Hands out the intended starts of ops, in order, as time passes.

    `rate` gives arrivals per second at an instant; instants are whatever clock the caller uses.
    """

    def __init__(
        self, rate: Callable[[float], float], start: float, spacing: Spacing, rng: random.Random
    ) -> None:
        self._rate, self._cursor = rate, start
        self._gap: Callable[[], float] = (
            (lambda: rng.expovariate(1.0)) if spacing == "poisson" else (lambda: 1.0)
        )
        self._missing = self._gap()

    def due(self, now: float) -> list[float]:
        """The intended starts up to `now` that were not handed out before."""
        instants: list[float] = []
        cursor, missing, rate = self._cursor, self._missing, self._rate
        while cursor < now:
            step_end = min(cursor + STEP_S, now)
            per_s = rate(cursor)
            reached = cursor + missing / per_s if per_s > 0 else math.inf
            if reached <= step_end:
                instants.append(reached)
                cursor, missing = reached, self._gap()
            else:
                missing -= per_s * (step_end - cursor)
                cursor = step_end
        self._cursor, self._missing = cursor, missing
        return instants

    def pause_s(self) -> float:
        """How long nothing can fall due if the rate stays as it is; at most one step."""
        per_s = self._rate(self._cursor)
        return min(STEP_S, self._missing / per_s) if per_s > 0 else STEP_S
