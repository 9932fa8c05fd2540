"""The mix: which user classes the arrivals are made of, and in what proportion."""

import re
from typing import TypeAlias

Mix: TypeAlias = dict[str, float]
"""Name of a user class (`feed_reader`) -> its weight, above 0."""


class MixError(ValueError):
    """A mix cannot be read. The message is one plain sentence for a user."""


def parse_mix(text: str) -> Mix:
    """Read `"feed_reader:80,author:20"`. Weights need not add up to 100.

    Raises:
        MixError: a weight is missing or not a number, or nothing is left to run.
    """
    mix: Mix = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, weight = part.partition(":")
        try:
            mix[name.strip()] = float(weight.removesuffix("%"))
        except ValueError:
            raise MixError(f"mix {text!r}: {part!r} should be NAME:WEIGHT, such as feed_reader:80") from None
        if not 0 <= mix[name.strip()] < float("inf"):
            raise MixError(f"mix {text!r}: the weight of {name!r} must not be negative")
    mix = {name: weight for name, weight in mix.items() if weight > 0}
    if not mix:
        raise MixError(f"mix {text!r} names no user class with a weight above 0")
    return mix


def mix_name(class_name: str) -> str:
    """What a user class is called in a mix and in every row: `FeedReader` -> `feed_reader`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()
