"""What a swarm was asked to do, as one typed value made from the command line's options."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from loadtests.mix import Mix, MixError, parse_mix
from loadtests.pacing import Spacing
from loadtests.population import Population, PopulationError, parse_population
from loadtests.shapes import Shape, ShapeError, parse_shape
from results.history import StalenessPath

DEFAULT_MIX: Final = "feed_reader:80,viral_liker:10,celebrity_follower:5,author:5"
DEFAULT_POPULATION: Final = "users=2000,celebrities=1,celebrity_followers=1200,follows_mean=5"
ALL_PATHS: Final[tuple[StalenessPath, ...]] = get_args(StalenessPath)
SHARES: Final = 12
"""Into how many equal shares the arrivals are cut, for Locust to deal over its workers."""


@dataclass(frozen=True)
class Settings:
    """`arrivals` is in ops per second, over all workers; None: Locust's closed loop."""

    arrivals: float | None
    spacing: Spacing
    shape: Shape
    mix: Mix | None
    seed: int
    population: Population
    probes: tuple[StalenessPath, ...]
    probe_deadline_s: float
    drain_s: float
    max_in_flight: int
    read_timeout_s: float
    run_dir: Path | None

    @property
    def arrival(self) -> str:
        return "closed" if self.arrivals is None else "open"


def settings_of(options: Any) -> Settings:
    """Read Locust's parsed options; their texts were checked when they were parsed."""
    arrivals = options.arrivals or None
    shape = parse_shape(options.shape)
    return Settings(
        arrivals=arrivals,
        spacing=options.spacing,
        shape=shape,
        mix=parse_mix(options.mix) if options.mix else None,
        seed=options.seed,
        population=parse_population(options.population, options.seed),
        probes=parse_probes(options.probes),
        probe_deadline_s=options.probe_deadline,
        drain_s=options.drain,
        max_in_flight=options.max_in_flight or _enough(arrivals, shape, options),
        read_timeout_s=options.read_timeout,
        run_dir=Path(options.run_dir) if options.run_dir else None,
    )


def _enough(arrivals: float | None, shape: Shape, options: Any) -> int:
    """So many in flight that a server that answers nothing at all is still sent everything on time:
    peak rate x time-outs, and a quarter more; at most 4,000, for the sake of file descriptors."""
    timeouts_s: float = options.read_timeout + options.connect_timeout
    return max(64, min(4000, round(1.25 * (arrivals or 0) * shape.peak * timeouts_s)))


def parse_probes(text: str) -> tuple[StalenessPath, ...]:
    """Read `"push,celebrity"`; `"none"` for no probes. Raises ValueError for a path that is not one."""
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "none")]
    for name in names:
        if name not in ALL_PATHS:
            raise ValueError(f"--probes: {name!r} is not one of {', '.join(ALL_PATHS)}, or none")
    return tuple(path for path in ALL_PATHS if path in names)


# -- the options: declared once, here ----------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ours to Locust's. Values stay plain, because the master sends them to its workers."""
    group = parser.add_argument_group(
        "feedstorm",
        "The swarm, and what it writes down. Without --arrivals the load is Locust's closed loop.",
    )

    def add(option: str, *, on_page: bool = True, **about: Any) -> None:
        """Locust's own `add_argument` would put it on the web page too, but knows no groups."""
        action: Any = group.add_argument(option, **about)
        action.include_in_web_ui = on_page
        action.is_secret = action.is_required = action.is_multiple = False

    add("--arrivals", type=_rate, default=0.0, help="ops per second, whatever the answers (open arrivals)")
    add(
        "--shape",
        type=_checked(parse_shape),
        default="steady",
        help="steady, ramp:over=30, spike:at=20,for=10,times=5, wave, soak, celebrity-moment:at=20,times=8",
    )
    add("--spacing", choices=["poisson", "even"], default="poisson", help="how arrivals are spread")
    add(
        "--mix", type=_checked(parse_mix), default="", help=f"user classes and weights; default {DEFAULT_MIX}"
    )
    add("--seed", type=int, default=1, help="drives arrivals and choices, and who the people are")
    add(
        "--population",
        type=_checked(lambda text: parse_population(text, 0)),
        default=DEFAULT_POPULATION,
        help="as seeded, and as `feedstorm seed` says; seed=N in it if that is not --seed's",
    )
    add(
        "--probes",
        type=_checked(parse_probes),
        default=",".join(ALL_PATHS),
        help="staleness paths to measure, or none",
    )
    add(
        "--probe-deadline",
        type=_seconds,
        default=10.0,
        help="seconds after which an unseen write is a breach",
    )
    add("--drain", type=_seconds, default=8.0, help="seconds that ops in flight are waited for at the end")
    add("--connect-timeout", type=_seconds, default=1.0, help="seconds")
    add("--read-timeout", type=_seconds, default=5.0, help="seconds, from the send to the whole answer")
    add("--max-in-flight", type=int, default=0, help="per process; default: enough for a server that stalls")
    add(
        "--run-dir",
        on_page=False,  # who may start a load may not choose where this machine's files are written
        default="",
        help="where series, staleness and ledger are written; default: nowhere",
    )


def _checked(parse: Callable[[str], object]) -> Callable[[str], str]:
    """An option's type that keeps the text and turns a problem into a usage error."""

    def check(text: str) -> str:
        try:
            if text:
                parse(text)
        except (MixError, ShapeError, PopulationError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return check


def _seconds(text: str) -> float:
    return _number(text, "a number of seconds above 0")


def _rate(text: str) -> float:
    if not text or text == "0":
        return 0.0
    return _number(text.removesuffix("/s"), "ops per second, such as 60")


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be {what}, not {text!r}")
    return number
