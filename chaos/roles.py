"""From a role in a drill (`mongo:primary`, `link:app->redis`) to what plays it at this moment.

    mongo:primary   mongo:secondary   mongo:any   mongo:all   mongo:majority   mongo:<member>
    redis   kafka   api:any   api:all   worker:fanout   worker:fanout:all   worker:all
    link:<client>-><server>      client: a link's client, or `app` for all of them
                                 server: a component, a member, or a Mongo role

A role that resolves to nothing is an error: a fault that was put on nobody proves nothing.
"""

import random
from dataclasses import dataclass
from difflib import get_close_matches

from chaos.errors import CannotInjectError, UsageError
from chaos.targets import Arsenal, Target
from chaos.units import suggest
from compose.stack import Component, Member, State

_COMPONENTS = ("mongo", "redis", "kafka", "api", "worker")
_CHOICES = ("any", "all", "primary", "secondary", "majority")


@dataclass(frozen=True)
class Role:
    """A parsed role. `choice` is one of `any`, `all`, `primary`, `secondary`, `majority` or a name."""

    text: str
    component: str
    choice: str
    kind: str = ""
    client: str = ""

    @property
    def is_link(self) -> bool:
        return bool(self.client)


def parse(text: str) -> Role:
    """Raises UsageError with the word that is wrong; whether somebody plays the role shows later."""
    if text.startswith("link:"):
        client, arrow, server = text.removeprefix("link:").partition("->")
        if not (client and arrow and server):
            raise UsageError(f"'{text}' is not a link: write it like 'link:app->redis', in quotes in a shell")
        return Role(text, *_server(text, server), client=client)
    component, choice, kind = _member(text)
    return Role(text, component, choice, kind)


def _member(text: str) -> tuple[str, str, str]:
    component, *rest = text.split(":")
    if component not in _COMPONENTS:
        raise UsageError(
            f"'{text}' is not a role: no component '{component}'{suggest(component, _COMPONENTS)}"
        )
    kind = ""
    if component == "worker" and rest and rest[0] not in _CHOICES:
        kind, *rest = rest
    choice = rest[0] if rest else "any"
    if len(rest) > 1 or (choice in ("primary", "secondary", "majority") and component != "mongo"):
        raise UsageError(f"'{text}' is not a role: write it like mongo:primary, api:any or worker:fanout")
    near = [] if choice in _CHOICES else get_close_matches(choice, _CHOICES, n=1, cutoff=0.7)
    if near:
        raise UsageError(f"'{text}' is not a role (did you mean '{component}:{near[0]}'?)")
    if component == "mongo" and not rest:
        raise UsageError("'mongo' does not say which member: write mongo:primary, mongo:any or mongo:all")
    return component, choice, kind


def _server(text: str, server: str) -> tuple[str, str]:
    component, _, choice = server.partition(":")
    if choice and choice not in _CHOICES:
        raise UsageError(f"'{text}' is not a link: no choice '{choice}'{suggest(choice, _CHOICES)}")
    return component, choice or "all"


def resolve(role: Role, arsenal: Arsenal, rng: random.Random) -> tuple[Target, ...]:
    """Who plays the role now. Choices are drawn from `rng` over names in order, so a seed repeats them.

    Raises:
        CannotInjectError: nobody does (or, for a link, the stack has no such link or no proxy).
    """
    targets = _links(role, arsenal, rng) if role.is_link else _members(role, arsenal, rng)
    if not targets:
        names = arsenal.stack.links if role.is_link else arsenal.stack.members
        known = ", ".join(sorted(each.name for each in names)) or "none"
        what = "link" if role.is_link else "member"
        raise CannotInjectError(
            f"no {what} of the {arsenal.stack.kind} stack plays '{role.text}' now (there are: {known})"
        )
    return targets


def _members(role: Role, arsenal: Arsenal, rng: random.Random) -> tuple[Target, ...]:
    named = [member for member in arsenal.stack.members if member.name == role.choice]
    chosen = named or _choose(role, _alive(role, arsenal), arsenal, rng)
    found = (arsenal.member(member.name) for member in chosen if member.is_fault_target)
    return tuple(target for target in found if target is not None)


def _alive(role: Role, arsenal: Arsenal) -> list[Member]:
    """Members of the role's component and kind that run at all, by name; a dead one plays no role."""
    control = arsenal.stack.control
    return sorted(
        (
            member
            for member in arsenal.stack.members
            if member.component == role.component
            and role.kind in ("", member.kind)
            and control.state(member.name) in (State.RUNNING, State.PAUSED)
        ),
        key=lambda member: member.name,
    )


def _choose(role: Role, members: list[Member], arsenal: Arsenal, rng: random.Random) -> list[Member]:
    match role.choice:
        case "all":
            return members
        case "any":
            return [rng.choice(members)] if members else []
        case "majority":
            of_all = sum(member.component == Component.MONGO for member in arsenal.stack.members)
            return _primary_first(members, arsenal.stack.primary())[: of_all // 2 + 1]
        case "primary":
            primary = arsenal.stack.primary()
            return [member for member in members if member.name == primary]
        case "secondary":
            primary = arsenal.stack.primary()
            others = [member for member in members if member.name != primary]
            return [rng.choice(others)] if others else []
        case _:
            return []


def _primary_first(members: list[Member], primary: str | None) -> list[Member]:
    return sorted(members, key=lambda member: member.name != primary)


def _links(role: Role, arsenal: Arsenal, rng: random.Random) -> tuple[Target, ...]:
    servers = {role.component} if role.component not in _COMPONENTS else _servers(role, arsenal, rng)
    found = (
        arsenal.link(link.name)
        for link in arsenal.stack.links
        if link.server in servers and role.client in ("app", link.client)
    )
    return tuple(target for target in found if target is not None)


def _servers(role: Role, arsenal: Arsenal, rng: random.Random) -> set[str]:
    members = [member for member in arsenal.stack.members if member.component == role.component]
    if role.choice == "all":
        return {member.name for member in members}
    return {member.name for member in _choose(role, members, arsenal, rng)}
