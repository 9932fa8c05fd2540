"""Shapes: how the rate of arrivals changes over a run. Pure functions of the seconds since the load began.

A shape is a factor on `--arrivals`. It is written as a name with options:

    steady
    ramp:over=30                    from nothing to the full rate in 30 s
    spike:at=20,for=10,times=5      five times the rate for 10 s
    wave:period=60,low=0.2          up and down between 0.2 and 1
    soak:over=60,period=3600        a slow start, then gentle waves for hours
    celebrity-moment:at=20,times=8,fade=15     a celebrity posts, then everybody arrives
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, Final, TypeAlias


class ShapeError(ValueError):
    """A shape cannot be read. The message is one plain sentence for a user."""


@dataclass(frozen=True)
class Steady:
    """The same rate all the time."""

    def __call__(self, t: float) -> float:
        return 1.0

    @property
    def peak(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Ramp(Steady):
    """From nothing to the full rate, evenly, over `over` seconds."""

    over: float = 30.0

    def __call__(self, t: float) -> float:
        return min(1.0, max(0.0, t / self.over)) if self.over > 0 else 1.0


@dataclass(frozen=True)
class Spike(Steady):
    """`times` the rate from second `at`, for `length` seconds (spelled `for`)."""

    at: float = 20.0
    length: float = 10.0
    times: float = 5.0
    spelled: ClassVar[dict[str, str]] = {"for": "length"}

    def __call__(self, t: float) -> float:
        return self.times if self.at <= t < self.at + self.length else 1.0

    @property
    def peak(self) -> float:
        return max(1.0, self.times)


@dataclass(frozen=True)
class Wave(Steady):
    """A sine between `low` and 1 that starts at its top, `period` seconds from top to top."""

    period: float = 60.0
    low: float = 0.2

    def __call__(self, t: float) -> float:
        return self.low + (1 - self.low) * (1 + math.cos(2 * math.pi * t / self.period)) / 2


@dataclass(frozen=True)
class Soak(Steady):
    """A slow start over `over` seconds, then waves of `depth` with a period of `period` seconds."""

    over: float = 60.0
    period: float = 3600.0
    depth: float = 0.2

    def __call__(self, t: float) -> float:
        start = min(1.0, max(0.0, t / self.over)) if self.over > 0 else 1.0
        return start * Wave(self.period, 1 - self.depth)(t)


@dataclass(frozen=True)
class CelebrityMoment(Steady):
    """At second `at` a celebrity posts; the crowd arrives within `rise` seconds and fades away.

    `fade` is the time in which the excess over the usual rate falls to 1/e.
    """

    at: float = 20.0
    times: float = 8.0
    rise: float = 1.0
    fade: float = 15.0

    def __call__(self, t: float) -> float:
        since = t - self.at
        if since < 0:
            return 1.0
        excess = self.times - 1
        if since < self.rise:
            return 1 + excess * since / self.rise
        return 1 + excess * math.exp(-(since - self.rise) / self.fade)

    @property
    def peak(self) -> float:
        return max(1.0, self.times)


Shape: TypeAlias = Steady


def area(shape: Shape, seconds: float) -> float:
    """The shape's integral from 0: how many seconds of the full rate a run of `seconds` amounts to."""
    steps = max(1, round(seconds / 0.1))
    width = seconds / steps
    return sum(shape((step + 0.5) * width) for step in range(steps)) * width


NAMES: Final[dict[str, Callable[..., Shape]]] = {
    "steady": Steady,
    "ramp": Ramp,
    "spike": Spike,
    "wave": Wave,
    "soak": Soak,
    "celebrity-moment": CelebrityMoment,
}


def parse_shape(text: str) -> Shape:
    """Read a shape such as `"spike:at=20,for=10,times=5"`.

    Raises:
        ShapeError: the name or an option is unknown, or a value is not a positive number.
    """
    name, _, rest = text.strip().partition(":")
    kind = NAMES.get(name)
    if kind is None:
        raise ShapeError(f"shape {name!r} is not known: choose one of {', '.join(NAMES)}")
    spelled: dict[str, str] = getattr(kind, "spelled", {})
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # all of NAMES are dataclasses
    values: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        option = spelled.get(key.strip(), key.strip())
        if option not in known:
            raise ShapeError(f"shape {name!r} has no option {key!r}: it takes {', '.join(sorted(known))}")
        values[option] = _positive(name, key, value)
    return kind(**values)


def _positive(name: str, key: str, value: str) -> float:
    try:
        number = float(value.removesuffix("s"))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0) or (key in ("period", "fade") and number == 0):
        raise ShapeError(f"shape {name!r}: {key} must be a positive number, not {value!r}")
    return number
