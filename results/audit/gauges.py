"""Reads gauges from the `/metrics` of the app's workers."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from results.audit.errors import ReadError
from results.audit.fetch import TIMEOUT_S, RefusedError, fetch


class GaugeReading(NamedTuple):
    """`kind` is the worker's; nothing for what is not of one kind. `value` is NaN where it is not known."""

    name: str
    kind: str
    value: float


def read_gauges(urls: Iterable[str], names: Sequence[str], within_s: float = TIMEOUT_S) -> list[GaugeReading]:
    """What all these workers say of these gauges, each worker asked for `within_s`. Raises ReadError."""
    return [reading for url in urls for reading in _read_one(url, names, within_s)]


def parse(text: str, names: Sequence[str]) -> list[GaugeReading]:
    """These gauges out of Prometheus's text format. Raises ValueError for what is not that."""
    return [
        GaugeReading(sample.name, sample.labels.get("kind", ""), sample.value)
        for family in text_string_to_metric_families(text)
        if family.name in names
        for sample in family.samples
    ]


def _read_one(url: str, names: Sequence[str], within_s: float) -> list[GaugeReading]:
    try:
        return parse(fetch(url, within_s=within_s).decode(), names)
    except (OSError, RefusedError, ValueError) as error:
        raise ReadError(f"could not read {url} ({error})") from error
