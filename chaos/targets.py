"""What a fault is put on: one member or one link, with the driver that can act on it."""

from dataclasses import dataclass

from compose.stack import Component, Link, Member, Stack


@dataclass(frozen=True)
class Target:
    """A member or a link of the stack. `component` is the server's, for a link: what answers behind it."""

    name: str
    component: Component
    driver: object
    member: Member | None = None
    link: Link | None = None

    @property
    def address(self) -> str:
        """Where a probe looks: at the member itself, or through the link's proxy. Empty: nowhere."""
        if self.link is not None:
            return self.link.listen
        return (self.member.address or "") if self.member is not None else ""


@dataclass(frozen=True)
class Arsenal:
    """A stack and the drivers for it. `links` is None where no proxy stands between the parts."""

    stack: Stack
    members: object
    links: object | None

    def member(self, name: str) -> Target | None:
        """The target of that name; None if the stack has no such member."""
        found = next((member for member in self.stack.members if member.name == name), None)
        if found is None:
            return None
        return Target(name=name, component=found.component, driver=self.members, member=found)

    def link(self, name: str) -> Target | None:
        """The target of that name; None if the stack has no such link, or no proxy for it."""
        found = next((link for link in self.stack.links if link.name == name), None)
        if found is None or self.links is None:
            return None
        server = next((member for member in self.stack.members if member.name == found.server), None)
        component = server.component if server is not None else Component.PROXY
        return Target(name=name, component=component, driver=self.links, link=found)

    def target(self, name: str) -> Target | None:
        return self.member(name) or self.link(name)
