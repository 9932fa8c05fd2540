"""The record of a game day: what was expected, what was seen, who said what when, what is to be done."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from chaos.drill import Drill
from chaos.gameday.plan import Plan, Station
from results.history import write_atomically

DAY: Final = "gameday.json"
Topic: TypeAlias = Literal["note", "expected", "observed", "answer", "follow-up", "abort"]


class Remark(msgspec.Struct, frozen=True):
    """One thing that was said, and when. `asked` is the question that it answers."""

    at: str
    topic: Topic
    text: str
    asked: str = ""


class Stop(msgspec.Struct):
    """One station as it went. `verdict` is empty until its drill has come to one; `why` is its reasons."""

    drill: str
    question: str
    briefing: str
    seed: int
    began_at: str = ""
    run: str = ""
    verdict: str = ""
    why: list[str] = []
    aborted: bool = False
    remarks: list[Remark] = []


class Day(msgspec.Struct):
    """What `gameday.json` holds."""

    gameday: str
    title: str
    briefing: str
    stack: str
    began_at: str
    ended_at: str = ""
    ending: str = ""
    versions: dict[str, str] = {}
    stack_limits: list[str] = []
    roles: dict[str, str] = {}
    stops: list[Stop] = []
    remarks: list[Remark] = []
    """What was said between the drills."""

    @classmethod
    def begin(cls, plan: Plan, stack: str) -> "Day":
        return cls(plan.gameday, plan.title, plan.briefing, stack, now(), roles=plan.roles)

    @property
    def follow_ups(self) -> list[tuple[str, Remark]]:
        """(drill, what is to be done), in the order in which they came up."""
        said = [(stop.drill, remark) for stop in self.stops for remark in stop.remarks]
        said += [("", remark) for remark in self.remarks]
        return [(drill, remark) for drill, remark in said if remark.topic == "follow-up"]

    @property
    def exit_code(self) -> int:
        """1 if any drill failed, else 3 if any proved nothing (or none was run), else 0."""
        verdicts = [stop.verdict for stop in self.stops]
        if "fail" in verdicts:
            return 1
        return 0 if verdicts and all(verdict == "pass" for verdict in verdicts) else 3

    def visit(self, station: Station, drill: Drill) -> Stop:
        """The record of the next station, which is filled as it goes."""
        stop = Stop(drill.drill, drill.question, station.briefing, station.seed, began_at=now())
        self.stops.append(stop)
        return stop

    def write(self, directory: Path) -> None:
        write_atomically(directory / DAY, msgspec.json.format(msgspec.json.encode(self)))


def read(directory: Path) -> Day:
    return msgspec.json.decode((directory / DAY).read_bytes(), type=Day)


def remark(topic: Topic, text: str, asked: str = "") -> Remark:
    return Remark(now(), topic, text.strip(), asked)


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
