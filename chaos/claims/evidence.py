"""What an experiment hands in, and what becomes of it. Data only."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from chaos.claims.ground import Ground


class Opinion(StrEnum):
    """What the samples say about a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold here"
    CANNOT_BE_SHOWN = "cannot be shown here"


class Samples(msgspec.Struct, frozen=True):
    """Repeated measurements of one way to do a thing; a smaller value is a cheaper way."""

    label: str
    unit: str
    values: list[float]


class Comparison(msgspec.Struct, frozen=True):
    """The claim that `dear` costs at least `at_least` times what `cheap` costs."""

    what: str
    cheap: Samples
    dear: Samples
    at_least: float = 1.25
    """Less than a quarter more is not worth a mechanism, and is within what two runs differ by."""


class Check(msgspec.Struct, frozen=True):
    """Something that is so or not; `ok` None if it could not be seen."""

    text: str
    ok: bool | None


class Line(msgspec.Struct, frozen=True):
    """One line of a chart."""

    label: str
    x: list[float]
    y: list[float]


class Chart(msgspec.Struct, frozen=True):
    """A curve that says more than the medians: cost against size, backlog against time."""

    title: str
    x: str
    y: str
    lines: list[Line]


class Rate(msgspec.Struct, frozen=True):
    """A by-product that plans can be made with: `{"fan_out_rate": 120000 timelines/s}`."""

    value: float
    unit: str


class Evidence(msgspec.Struct):
    """All that an experiment has measured. `notes` are its limits on this stack, one sentence each."""

    comparisons: list[Comparison] = []
    checks: list[Check] = []
    charts: list[Chart] = []
    rates: dict[str, Rate] = {}
    notes: list[str] = []


class CannotShowError(Exception):
    """This stack lacks what the experiment needs. The message is one sentence."""


Experiment: TypeAlias = Callable[["Ground"], Awaitable[Evidence]]


@dataclass(frozen=True)
class Claim:
    """A sentence of the reference model, and the experiment that puts it to the test."""

    name: str
    says: str
    experiment: Experiment
    within_s: float = 25.0


class Interval(msgspec.Struct, frozen=True):
    """A median, and where it would lie in 95 of 100 repetitions."""

    low: float
    median: float
    high: float


class Measured(msgspec.Struct, frozen=True):
    """A comparison with its intervals and what they say. `ratio` is dear over cheap."""

    what: str
    cheap: Samples
    dear: Samples
    at_least: float
    cheap_interval: Interval
    dear_interval: Interval
    ratio: Interval
    opinion: Opinion
    why: str


class Finding(msgspec.Struct):
    """What a claim came to."""

    claim: str
    says: str
    opinion: Opinion
    reasons: list[str]
    measured: list[Measured] = []
    charts: list[Chart] = []
    rates: dict[str, Rate] = {}
    took_s: float = 0.0
