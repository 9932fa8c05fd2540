"""Finding, reading and checking drill files: the catalogue that ships, and files of one's own."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from chaos import roles
from chaos.drill import (
    DEFAULT_MIX,
    DEFAULT_PROBES,
    Choice,
    Drill,
    Load,
    Phases,
    Population,
    StackWishes,
    Step,
)
from chaos.errors import DrillError, UsageError
from chaos.faults import FAULTS, make
from chaos.timeline import acts_of
from chaos.units import decode, suggest
from loadtests.shapes import ShapeError, parse_shape
from results.audit import INVARIANTS
from results.proof import parse_proof
from results.targets import parse_condition, parse_target

SHIPPED: Final = Path(__file__).parent / "drills"
_KNOWN_KEYS: Final = {
    field.encode_name
    for struct in (Drill, Load, Population, Phases, StackWishes, Step, Choice)
    for field in msgspec.structs.fields(struct)
}
_PATH: Final = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<key>[^`]+)`")


def names() -> list[str]:
    """The drills that ship."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def find(name: str) -> Drill:
    """A shipped drill by name, or a file by path. Raises UsageError, DrillError."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return read(path)
    if name not in names():
        raise UsageError(
            f"no drill '{name}'{suggest(name, names())}; `feedstorm drills` lists them with their questions"
        )
    return read(SHIPPED / f"{name}.yaml")


def read(path: Path) -> Drill:
    """Read and check a drill file. Raises DrillError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DrillError(f"cannot be read: {reason}", str(path)) from None
    return parse(text, str(path))


def parse(text: str, name: str = "drill") -> Drill:
    """The checked drill. `name` stands for the file in messages. Raises DrillError."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        raw = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DrillError(f"is not YAML: {error.problem}", f"{name}:{line}") from None
    if not isinstance(raw, dict) or root is None:
        raise DrillError("is not a drill: it should be a mapping that begins with `drill: its-name`", name)
    try:
        drill: Drill = msgspec.convert(raw, Drill, dec_hook=decode)
    except msgspec.ValidationError as error:
        message, path = _explain(str(error))
        raise DrillError(message, f"{name}:{_line_of(root, path)}") from None
    for path, problem in _problems(drill):
        raise DrillError(problem, f"{name}:{_line_of(root, path)}")
    return drill


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of a boolean: `on`, `off`, `yes` and `no` are words, and `on` is one of our keys."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:null")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _explain(message: str) -> tuple[str, str]:
    """msgspec's sentence and where in the document it is, with a suggestion for a misspelt key."""
    match = _PATH.search(message)
    path = match["path"] if match else ""
    plain = message[: match.start()] if match else message
    unknown = _UNKNOWN.match(plain)
    if unknown:
        return (
            f"no key '{unknown['key']}' here{suggest(unknown['key'], _KNOWN_KEYS)}",
            f"{path}.{unknown['key']}",
        )
    place = f" (at {path.lstrip('.')})" if path else ""
    return f"{plain}{place}", path


def _line_of(root: yaml.Node, path: str) -> int:
    """The line of `.timeline[0].at` in the document; of the nearest thing around it that exists."""
    node, mark = root, root.start_mark
    for word, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path):
        if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            node = node.value[int(index)]
            mark = node.start_mark
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next(((key, value) for key, value in pairs if key.value == word), None)
        if pair is None:
            break
        mark, node = pair[0].start_mark, pair[1]
    return int(mark.line) + 1


# -- what the types cannot say ----------------------------------------------------------------

Problems = Iterable[tuple[str, str]]
"""(path in the document, sentence)"""


def _problems(drill: Drill) -> Problems:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", drill.drill):
        yield ".drill", f"'{drill.drill}' is not a name: lower-case words with hyphens between them"
    for path, what, kind in (
        ("targets", drill.targets, parse_target),
        ("proof", drill.proof, parse_proof),
        ("abort_if", drill.abort_if, parse_condition),
    ):
        yield from _unparsable(path, what, kind)
    for number, invariant in enumerate(drill.invariants):
        if invariant not in INVARIANTS:
            yield f".invariants[{number}]", f"no invariant '{invariant}'{suggest(invariant, INVARIANTS)}"
    if not (drill.targets or drill.invariants):
        yield "", "has neither targets nor invariants: nothing could fail"
    yield from _load_problems(drill)
    for number, step in enumerate(drill.timeline):
        yield from _step_problems(step, f".timeline[{number}]", drill)
    if drill.timeline and not acts_of(drill, seed=0):
        yield ".timeline", "comes to no fault at all: look at `times` and `until`"
    if any(not step.pick for step in drill.timeline) and not drill.proof:
        yield (
            ".timeline",
            "injects faults, and `proof` does not say what must have been seen for them to count",
        )
    if not drill.timeline and not drill.phases.fault:
        yield ".phases", "there is no timeline, so `fault` must say how long the moment of truth lasts"


def _load_problems(drill: Drill) -> Problems:
    for user in drill.load.mix:
        if user not in DEFAULT_MIX:
            yield f".load.mix.{user}", f"no user class '{user}'{suggest(user, DEFAULT_MIX)}"
    if not any(drill.load.mix.values()):
        yield ".load.mix", "has no user class with a weight above 0: nobody would come"
    for number, probe in enumerate(drill.load.probes):
        if probe not in DEFAULT_PROBES:
            yield f".load.probes[{number}]", f"no probe '{probe}'{suggest(probe, DEFAULT_PROBES)}"
    try:
        parse_shape(drill.load.shape)
    except ShapeError as error:
        yield ".load.shape", str(error)
    if drill.load.arrivals <= 0:
        yield ".load.arrivals", f"{drill.load.arrivals} is no load"
    people = drill.population
    if people.celebrity_followers >= people.users:
        yield (
            ".population",
            f"{people.users} users cannot be {people.celebrity_followers} followers of one of them",
        )


def _unparsable(path: str, sentences: list[str], parse_one: Callable[[str], Any]) -> Problems:
    for number, sentence in enumerate(sentences):
        try:
            parse_one(sentence)
        except ValueError as error:
            yield f".{path}[{number}]", str(error)


def _step_problems(step: Step, path: str, drill: Drill) -> Problems:
    if step.pick and (step.inject or step.on):
        yield path, "says both `inject` and `pick`: one of the two"
    if not step.pick and not (step.inject and step.on):
        yield path, "does not say what to inject on whom: `inject: kill, on: redis`"
    if step.at < drill.phases.fault_begins:
        begins = drill.phases.fault_begins
        yield (
            f"{path}.at",
            f"{step.at} is before the fault phase, which begins at {begins} (warmup + baseline)",
        )
    if step.every is not None and step.times is None and step.until is None:
        yield f"{path}.every", "says neither `times` nor `until`: it would never end"
    if step.every is not None and step.every <= 0:
        yield f"{path}.every", f"{step.every} is no interval"
    choices: list[Step | Choice] = [*step.pick] or [step]
    for number, choice in enumerate(choices):
        yield from _choice_problems(choice, f"{path}.pick[{number}]" if step.pick else path)


def _choice_problems(choice: Step | Choice, path: str) -> Problems:
    try:
        make(choice.inject, choice.options)
    except UsageError as error:
        yield f"{path}.inject", str(error)
        return
    try:
        role = roles.parse(choice.on)
    except UsageError as error:
        yield f"{path}.on", str(error)
        return
    fault = FAULTS[choice.inject]
    if role.is_link != (fault.hits == "link"):
        want = "a link, like link:app->redis" if fault.hits == "link" else "a member, like redis"
        yield f"{path}.on", f"'{choice.inject}' works on {want}"
    if choice.hold <= 0 and not fault.momentary:
        yield f"{path}.inject", f"'{choice.inject}' needs `for`: how long it stays in force"
