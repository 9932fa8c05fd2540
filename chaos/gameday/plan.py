"""The plan of a game day, read from YAML, strictly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import yaml

from chaos import catalogue
from chaos.drill import Drill, StackWishes
from chaos.errors import DrillError, UsageError
from chaos.units import Seconds, decode, suggest

SHIPPED: Final = Path(__file__).parents[1] / "gamedays"


class Station(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One drill of the day: what to tell the room before, what to expect, what to ask afterwards."""

    drill: str
    briefing: str
    expect: list[str] = []
    ask: list[str] = []
    seed: int = 1
    talk: Seconds = Seconds(300)
    """How long the room has for it besides the drill itself."""


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of a plan file."""

    gameday: str
    title: str
    briefing: str
    stations: list[Station]
    roles: dict[str, str] = {}
    """Who does what in the room: leads, watches the charts, writes, may abort."""


_KEYS: Final = {field.encode_name for struct in (Plan, Station) for field in msgspec.structs.fields(struct)}


def names() -> list[str]:
    """The plans that ship."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def find(name: str) -> tuple[Plan, list[Drill]]:
    """A shipped plan by name, or a file by path, with its drills. Raises UsageError, DrillError."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        if name not in names():
            raise UsageError(f"no game day '{name}'{suggest(name, names())}; or give the path of a plan.yaml")
        path = SHIPPED / f"{name}.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DrillError(f"cannot be read: {reason}", str(path)) from None
    plan = parse(text, str(path))
    return plan, list(_drills(plan, path))


def parse(text: str, name: str = "plan") -> Plan:
    """The plan of a file. Raises DrillError with the place in it."""
    try:
        raw = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DrillError(f"is not YAML: {error.problem}", f"{name}:{line}") from None
    if not isinstance(raw, dict):
        raise DrillError("is no plan: it should be a mapping that begins with `gameday: its-name`", name)
    try:
        plan: Plan = msgspec.convert(raw, Plan, dec_hook=decode)
    except msgspec.ValidationError as error:
        raise DrillError(_explain(str(error)), name) from None
    if not plan.stations:
        raise DrillError("has no stations: a game day without a drill is a meeting", name)
    return plan


def _explain(message: str) -> str:
    """msgspec's sentence with the place in words, and a hint for a misspelt key."""
    message = message.replace(" - at `$.", " (at ").replace("`$", "").rstrip("`")
    message += ")" if " (at " in message else ""
    unknown = message.split("unknown field `")
    if len(unknown) == 2:
        key = unknown[1].split("`")[0]
        return f"no key '{key}' here{suggest(key, _KEYS)}"
    return message


def _drills(plan: Plan, path: Path) -> Iterator[Drill]:
    """A drill file of one's own is looked for beside the plan."""
    for station in plan.stations:
        beside = path.parent / station.drill
        yield catalogue.find(str(beside) if beside.suffix in (".yaml", ".yml") else station.drill)


def wishes_of(drills: list[Drill]) -> StackWishes:
    """How the one stack of the day has to be. Raises UsageError if two drills contradict each other."""
    env: dict[str, str] = {}
    election: Seconds | None = None
    for drill in drills:
        for name, value in drill.stack.env.items():
            if env.setdefault(name, value) != value:
                raise UsageError(f"{drill.drill} needs {name}={value}, and an earlier drill {env[name]}")
        election = drill.stack.election_timeout if election is None else election
        wanted = drill.stack.election_timeout
        if wanted is not None and wanted != election:
            raise UsageError(
                f"{drill.drill} needs an election time-out of {wanted}, an earlier one {election}"
            )
    return StackWishes(election_timeout=election, env=env)
