"""Help for people who mistype: the nearest known word, and numbers as people read them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches


def unknown_word(word: str, what: str, known: Iterable[str]) -> str:
    """`"'feeed' is not a group: did you mean 'feed'? (feed, likes, ...)"`"""
    known = list(known)
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"'{word}' is not a {what}: {hint}(known: {', '.join(known)})"


def number(value: float) -> str:
    """Three digits that matter, without exponents or trailing zeros: 0.0123, 4.5, 120, 13400."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    text = f"{value:.3g}"
    return f"{value:.6f}".rstrip("0").rstrip(".") if "e" in text else text


def seconds(value: float | None) -> str:
    """A length of time: `"-"`, `"340 ms"`, `"2.5 s"`."""
    if value is None:
        return "-"
    return f"{number(value * 1000)} ms" if abs(value) < 1 and value != 0 else f"{number(value)} s"


def percent(share: float | None) -> str:
    """A share (0..1) as `"4.2 %"`; `"-"` for None."""
    return "-" if share is None else f"{number(share * 100)} %"


def plural(count: int, noun: str) -> str:
    """`"1 write"`, `"3 writes"`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(items: Iterable[object], most: int = 5) -> str:
    """`"a, b, c and 4 more"`."""
    names = [str(item) for item in items]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def date(moment: str) -> str:
    """`"2026-11-30 12:00:00 UTC"`, of a moment in ISO 8601."""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
