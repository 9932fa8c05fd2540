"""Durations, rates and shares as drills spell them: `20s`, `250ms`, `60/s`, `10%`."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_RATE = re.compile(r"(\d+(?:\.\d+)?)/s")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Seconds(float):
    """A duration in seconds, spelled with its unit: `20s`, `250ms`, `2m`, `1h`."""

    @classmethod
    def parse(cls, text: object) -> "Seconds":
        match = _DURATION.fullmatch(str(text).strip())
        if match is None:
            raise ValueError(f"'{text}' is not a duration: write it like 20s, 250ms, 2m or 1h")
        return cls(float(match[1]) * _UNIT_S[match[2]])

    def __str__(self) -> str:
        if 0 < self < 1:
            return f"{self * 1000:g}ms"
        unit = next(
            (unit for unit in ("h", "m") if self >= 2 * _UNIT_S[unit] and self % _UNIT_S[unit] == 0), "s"
        )
        return f"{self / _UNIT_S[unit]:g}{unit}"

    __repr__ = __str__


class PerSecond(float):
    """A rate, spelled `60/s`."""

    @classmethod
    def parse(cls, text: object) -> "PerSecond":
        match = _RATE.fullmatch(str(text).strip())
        if match is None:
            raise ValueError(f"'{text}' is not a rate: write it like 60/s")
        return cls(float(match[1]))

    def __str__(self) -> str:
        return f"{float(self):g}/s"

    __repr__ = __str__


class Share(float):
    """A part of a whole between 0 and 1, spelled `10%`."""

    @classmethod
    def parse(cls, text: object) -> "Share":
        match = _SHARE.fullmatch(str(text).strip())
        if match is None or float(match[1]) > 100:
            raise ValueError(f"'{text}' is not a share: write it like 10%, at most 100%")
        return cls(float(match[1]) / 100)

    def __str__(self) -> str:
        return f"{self * 100:g}%"

    __repr__ = __str__


def decode(kind: type, value: Any) -> Any:
    """msgspec's hook for the types of this module. Raises ValueError with a sentence for the user."""
    if issubclass(kind, Seconds | PerSecond | Share):
        return value if isinstance(value, kind) else kind.parse(value)
    raise NotImplementedError(f"{kind.__name__} cannot be read from a file")


def encode(value: object) -> str:
    """msgspec's hook back: the spelling that `decode` reads."""
    if isinstance(value, Seconds | PerSecond | Share):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be written to a file")


def suggest(word: str, known: Iterable[str]) -> str:
    """`" (did you mean 'x'?)"`, or `" (known: a, b, c)"` where nothing is near."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else f" (known: {', '.join(names)})"
