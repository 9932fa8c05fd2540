"""The reference model's arithmetic as a calculator: formulas, and inputs that say where they came from.

Pure. `results.plan_inputs` looks for measured inputs in earlier runs; whatever is neither measured nor
given has the default of the model. One formula is one `Rule`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from results.words import number, unknown_word

DOCUMENT_LIMIT_BYTES: Final = 16 * 1024 * 1024
_SECONDS_A_MONTH: Final = 30 * 86_400
_GB: Final = 1e9


class Input(msgspec.Struct, frozen=True):
    """One number that plans are made from. `source`: "default", "given", or "measured in <run>"."""

    name: str
    value: float
    unit: str
    what: str
    source: str = "default"


class Line(msgspec.Struct, frozen=True):
    """One result, with the formula and the inputs that it was made from."""

    name: str
    what: str
    value: float
    unit: str
    formula: str
    inputs: list[Input]


Values: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class Rule:
    """A formula. `needs` names its inputs; `compute` gets their values."""

    name: str
    what: str
    unit: str
    formula: str
    needs: tuple[str, ...]
    compute: Callable[[Values], float]


INPUTS: Final[dict[str, Input]] = {
    each.name: each
    for each in (
        Input("fan_out_rate", 20_000, "feeds/s", "how fast one post is pushed into feeds"),
        Input("staleness_budget", 5, "s", "how late a post may show up in a feed"),
        Input("followers", 1_000_000, "followers", "followers of the account that is planned for"),
        Input("id_bytes", 36, "bytes", "an id, as text"),
        Input("follows", 100_000_000, "follows", "relationships to be stored"),
        Input("follow_bytes", 251, "bytes", "one document in follows, as BSON"),
        Input("index_bytes", 281, "bytes", "its entries in _id, pair and two page indexes, uncompressed"),
        Input("rate", 1000, "ops/s", "ops that are served"),
        Input("latency", 0.02, "s", "mean time of one op"),
        Input("feed_rate", 5000, "reads/s", "feed reads at the peak"),
        Input("fallback_rps", 3000, "reads/s", "feed reads that one API process may send to Mongo"),
        Input("api_instances", 2, "processes", "API processes"),
        Input("media_rate", 1000, "views/s", "images and thumbnails that are looked at"),
        Input("media_bytes", 200_000, "bytes", "one image"),
        Input("hit_rate", 0.95, "share", "views that the CDN answers by itself"),
        Input("cdn_price", 0.085, "$/GB", "what the CDN asks for traffic"),
        Input("origin_price", 0.09, "$/GB", "what the storage asks for traffic"),
    )
}


def _array_element(values: Values) -> float:
    """One id in a BSON array: type, index as text (5 or 6 digits) and its end, length, id, end."""
    return 1 + 5.7 + 1 + 4 + values["id_bytes"] + 1


def _media_gb(values: Values) -> float:
    return values["media_rate"] * values["media_bytes"] * _SECONDS_A_MONTH / _GB


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "celebrity-threshold",
        "followers from which a post is pulled, not pushed",
        "followers",
        "fan_out_rate x staleness_budget",
        ("fan_out_rate", "staleness_budget"),
        lambda v: v["fan_out_rate"] * v["staleness_budget"],
    ),
    Rule(
        "fan-out-time",
        "pushing one post to all those followers",
        "s",
        "followers / fan_out_rate",
        ("followers", "fan_out_rate"),
        lambda v: v["followers"] / v["fan_out_rate"],
    ),
    Rule(
        "array-limit",
        "followers that fit into one document",
        "followers",
        "16 MiB / (id_bytes + 12.7)",
        ("id_bytes",),
        lambda v: DOCUMENT_LIMIT_BYTES // _array_element(v),
    ),
    Rule(
        "array-cost",
        "bytes that one more follow rewrites, embedded",
        "bytes",
        "min(followers, array limit) x (id_bytes + 12.7)",
        ("followers", "id_bytes"),
        lambda v: min(v["followers"] * _array_element(v), DOCUMENT_LIMIT_BYTES),
    ),
    Rule(
        "follow-storage",
        "documents in follows",
        "bytes",
        "follows x follow_bytes",
        ("follows", "follow_bytes"),
        lambda v: v["follows"] * v["follow_bytes"],
    ),
    Rule(
        "follow-indexes",
        "indexes of follows",
        "bytes",
        "follows x index_bytes",
        ("follows", "index_bytes"),
        lambda v: v["follows"] * v["index_bytes"],
    ),
    Rule(
        "concurrency",
        "ops under way at any moment (Little's law)",
        "ops",
        "rate x latency",
        ("rate", "latency"),
        lambda v: v["rate"] * v["latency"],
    ),
    Rule(
        "fallback-budget",
        "feed reads that Mongo takes while Redis is gone",
        "reads/s",
        "fallback_rps x api_instances",
        ("fallback_rps", "api_instances"),
        lambda v: v["fallback_rps"] * v["api_instances"],
    ),
    Rule(
        "fallback-shed",
        "share of feed reads that are shed meanwhile",
        "share",
        "max(0, 1 - fallback_rps x api_instances / feed_rate)",
        ("fallback_rps", "api_instances", "feed_rate"),
        lambda v: max(0.0, 1 - v["fallback_rps"] * v["api_instances"] / v["feed_rate"]),
    ),
    Rule(
        "media-without-cdn",
        "media traffic a month, without a CDN",
        "$",
        "media_rate x media_bytes x 30 days x origin_price",
        ("media_rate", "media_bytes", "origin_price"),
        lambda v: _media_gb(v) * v["origin_price"],
    ),
    Rule(
        "media-with-cdn",
        "media traffic a month, with a CDN",
        "$",
        "media_rate x media_bytes x 30 days x (cdn_price + (1 - hit_rate) x origin_price)",
        ("media_rate", "media_bytes", "cdn_price", "hit_rate", "origin_price"),
        lambda v: _media_gb(v) * (v["cdn_price"] + (1 - v["hit_rate"]) * v["origin_price"]),
    ),
    Rule(
        "origin-load",
        "views that reach the storage",
        "views/s",
        "media_rate x (1 - hit_rate)",
        ("media_rate", "hit_rate"),
        lambda v: v["media_rate"] * (1 - v["hit_rate"]),
    ),
)

_MUST_BE_POSITIVE: Final = ("fan_out_rate", "feed_rate", "id_bytes")


def given(settings: Iterable[str]) -> dict[str, Input]:
    """Inputs as a user gives them: `name=value`. Raises ValueError with a sentence."""
    inputs = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"'{text}' is no input: write it like followers=1000000")
        if name not in INPUTS:
            raise ValueError(unknown_word(name, "input of the plan", INPUTS))
        inputs[name] = msgspec.structs.replace(INPUTS[name], value=_number(name, value), source="given")
    return inputs


def _number(name: str, text: str) -> float:
    try:
        value = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise ValueError(f"'{text}' is no number for {name}") from None
    least = 0 if name not in _MUST_BE_POSITIVE else 1e-9
    if not least <= value < float("inf"):
        raise ValueError(f"{name} cannot be {text}: it must be {'positive' if least else 'at least 0'}")
    if name == "hit_rate" and value > 1:
        raise ValueError(f"hit_rate is a share between 0 and 1, not {text}")
    return value


def plan(*layers: Mapping[str, Input]) -> list[Line]:
    """Every rule on the defaults, overlaid by `layers` (measured inputs, then given ones)."""
    inputs = dict(INPUTS)
    for layer in layers:
        inputs.update(layer)
    values = {name: each.value for name, each in inputs.items()}
    return [
        Line(
            rule.name,
            rule.what,
            rule.compute(values),
            rule.unit,
            rule.formula,
            [inputs[name] for name in rule.needs],
        )
        for rule in RULES
    ]


def amount(value: float, unit: str) -> str:
    """As people read it: `"1.2 GB"`, `"4.5 %"`, `"1,200,000 followers"`, `"$ 46,700"`."""
    if unit == "bytes":
        return _bytes(value)
    if unit == "share":
        return f"{number(value * 100)} %"
    text = f"{value:,.0f}" if abs(value) >= 1000 else number(value)
    return f"$ {text}" if unit == "$" else f"{text} {unit}"


def _bytes(value: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} TB"
