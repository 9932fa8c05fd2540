"""The events of a run as lines of a table."""

from collections.abc import Iterable
from typing import NamedTuple

from results.history import Abort, End, Event, Fault, MemberChange, Note, Phase, Topology
from results.urls import shown

STAGES = {
    "inject": "injected",
    "bites": "bites",
    "no_effect": "has no effect",
    "heal": "heal",
    "healed": "healed",
    "heal_failed": "could not be healed",
}


class EventLine(NamedTuple):
    when: str
    text: str


def event_lines(events: Iterable[Event]) -> list[EventLine]:
    return [EventLine(f"{event.t:.1f} s", shown(_text(event))) for event in events]


def _text(event: Event) -> str:
    match event:
        case Phase(name=name):
            return f"phase {name} begins"
        case End(why=why):
            return f"the load ends ({why})"
        case Fault(fault=fault, on=on, members=members, stage=stage, detail=detail):
            on_whom = f"{fault} {on}" + (f" ({', '.join(members)})" if members else "")
            return f"{on_whom}: {STAGES[stage]}" + (f", {detail}" if detail else "")
        case Topology(primary=primary):
            return f"{primary} is primary" if primary else "there is no primary"
        case MemberChange(member=member, state=state):
            return f"{member} is {state}"
        case Abort(condition=condition, observed=observed):
            return f"aborted: {condition} ({observed})"
        case Note(text=text, by=by):
            return f"{by}: {text}"
