"""A drill: load, a timeline of faults, and what the verdict asks for. Read from YAML, strictly.

A drill file is data; nothing here acts. Every mistake in one ends in a `DrillError`, a sentence that
names the file, the line and the word, because a drill that was silently half understood would give a
verdict on something else than was asked.
"""

from typing import Any, Final

import msgspec

from chaos.units import PerSecond, Seconds, encode

DEFAULT_MIX: Final = {"feed_reader": 80, "viral_liker": 10, "celebrity_follower": 5, "author": 5}
DEFAULT_PROBES: Final = ("push", "celebrity", "like_count", "follow_count")


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the swarm does: open arrivals at a rate, user classes by weight, a shape over time."""

    arrivals: PerSecond = PerSecond(60)
    mix: dict[str, int] = msgspec.field(default_factory=lambda: dict(DEFAULT_MIX))
    shape: str = "steady"
    probes: list[str] = msgspec.field(default_factory=lambda: list(DEFAULT_PROBES))


class Population(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is there before the load begins. `seed` says who they are and whom they follow; None: the
    seed of the run."""

    users: int = 2000
    celebrities: int = 1
    celebrity_followers: int = 1200
    follows_mean: int = 5
    seed: int | None = None

    def settled(self, run_seed: int) -> "Population":
        """The same, with its seed said."""
        return self if self.seed is not None else msgspec.structs.replace(self, seed=run_seed)

    @property
    def documents(self) -> int:
        """About how many users and follows they are."""
        return self.users * (1 + self.follows_mean) + self.celebrities * self.celebrity_followers

    def __str__(self) -> str:
        """As the load generator's `--population` reads it."""
        fields = msgspec.structs.asdict(self)
        return ",".join(f"{name}={value}" for name, value in fields.items() if value is not None)


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One fault, once, again and again, or one drawn from several.

    `at` and `until` count from the beginning of the load. A step with `every` is repeated, at most
    `times` times and not beyond `until`; one with `pick` draws one of the choices each time, by the
    drill's seed.
    """

    at: Seconds
    inject: str = ""
    on: str = ""
    hold: Seconds = msgspec.field(name="for", default=Seconds(0))
    options: dict[str, str | int | float] = msgspec.field(name="with", default_factory=dict)
    every: Seconds | None = None
    until: Seconds | None = None
    times: int | None = None
    pick: list["Choice"] = []


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a step with `pick` draws from."""

    inject: str
    on: str
    hold: Seconds = msgspec.field(name="for", default=Seconds(10))
    options: dict[str, str | int | float] = msgspec.field(name="with", default_factory=dict)


class Phases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long the phases last. `fault` begins after the baseline and lasts until the last heal, at
    least as long as said here; `recovery` follows."""

    warmup: Seconds = Seconds(5)
    baseline: Seconds = Seconds(15)
    fault: Seconds = Seconds(0)
    recovery: Seconds = Seconds(20)

    @property
    def fault_begins(self) -> Seconds:
        """Seconds after the beginning of the load."""
        return Seconds(self.warmup + self.baseline)


class StackWishes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the stack should be when the drill brings it up. `env` are settings of the app (`FEED_*`)."""

    election_timeout: Seconds | None = None
    env: dict[str, str] = {}


class Drill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of a drill file."""

    drill: str
    question: str
    load: Load = Load()
    population: Population = Population()
    stack: StackWishes = StackWishes()
    timeline: list[Step] = []
    phases: Phases = Phases()
    targets: list[str] = []
    invariants: list[str] = []
    proof: list[str] = []
    abort_if: list[str] = []
    not_on: dict[str, str] = {}
    """Stack kind -> why that stack cannot show what the drill asks."""

    def to_dict(self) -> dict[str, Any]:
        """The drill as its file would spell it, for the run's record."""
        return dict(msgspec.to_builtins(self, enc_hook=encode))
