"""The faults of a run, each put together from the steps in its events."""

from collections.abc import Iterable

import msgspec

from results.history import Event, Fault


class FaultLife(msgspec.Struct, omit_defaults=True):
    """One fault from injection to heal, in seconds of the run.

    `seen` says whether it was proved to bite: True, False (proved to be without effect, also if it lost
    its bite before its time), or None (never proved either way). `healed` likewise for its heal.
    `healed_at` is when the undo was done.
    """

    fault: str
    on: str
    lease: str
    members: list[str]
    injected_at: float
    healed_at: float | None = None
    seen: bool | None = None
    healed: bool | None = None
    detail: str = ""

    @property
    def name(self) -> str:
        return f"{self.fault} {self.on}"

    def in_force(self, end_s: float) -> tuple[float, float]:
        """From injection to heal; to the run's end if it was never healed."""
        return self.injected_at, end_s if self.healed_at is None else self.healed_at


def faults_of(events: Iterable[Event]) -> list[FaultLife]:
    """The faults that were injected, in the order of their injection."""
    lives: dict[str, FaultLife] = {}
    for event in events:
        if not isinstance(event, Fault):
            continue
        life = lives.get(event.lease)
        if life is None:
            life = FaultLife(event.fault, event.on, event.lease, event.members, event.t)
            lives[event.lease] = life
        _advance(life, event)
    return list(lives.values())


def _advance(life: FaultLife, event: Fault) -> None:
    life.detail = event.detail or life.detail
    match event.stage:
        case "inject":
            life.injected_at, life.members = event.t, event.members
        case "bites":
            life.seen = True
        case "no_effect":
            life.seen = False
        case "heal":
            life.healed_at = event.t
        case "healed":
            life.healed = True
            life.healed_at = event.t if life.healed_at is None else life.healed_at
        case "heal_failed":
            life.healed = False
