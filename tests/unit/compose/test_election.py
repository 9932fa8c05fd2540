"""The election's rules, on a clock and a register that these tests hold in their hands."""

import asyncio
import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from compose.embedded.mongo.election import Beat, Election, Role, Standing

TIMEOUT_S = 10.0
NAMES = ("a", "b", "c")


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeRegister:
    """The register in memory. It lets other members run before each answer, as a real one does."""

    beats: dict[str, Beat] = field(default_factory=dict)
    winners: dict[int, str] = field(default_factory=dict)

    async def beat(self, member: str, beat: Beat) -> None:
        await asyncio.sleep(0)
        self.beats[member] = beat

    async def read(self) -> Standing:
        await asyncio.sleep(0)
        term = max(self.winners, default=0)
        return Standing(dict(self.beats), term, self.winners.get(term))

    async def claim(self, term: int, member: str) -> bool:
        await asyncio.sleep(0)
        return self.winners.setdefault(term, member) == member


class Three:
    """Three members and what each of them thinks of its role."""

    def __init__(self) -> None:
        self.clock, self.register = Clock(), FakeRegister()
        self.members = {name: self._new(name) for name in NAMES}
        self.roles = dict.fromkeys(NAMES, Role(None))

    def _new(self, name: str) -> Election:
        return Election(name, NAMES, TIMEOUT_S, self.register, self.clock)

    def restart(self, name: str) -> None:
        self.members[name], self.roles[name] = self._new(name), Role(None)

    async def tick(self, *names: str) -> None:
        """A heartbeat of these members, side by side."""
        roles = await asyncio.gather(*(self.members[name].tick() for name in names))
        self.roles.update(zip(names, roles, strict=True))

    def acting(self) -> list[str]:
        """Who would take a write now."""
        return [
            n for n, role in self.roles.items() if role.primary == n and self.clock.now < role.lease_until
        ]

    async def elected(self) -> str:
        await self.tick(*NAMES)
        await self.tick(*NAMES)
        (primary,) = self.acting()
        return primary


async def test_the_first_election_needs_a_majority_and_no_time() -> None:
    three = Three()
    await three.tick("a")
    assert three.acting() == []
    await three.tick("b")
    assert three.acting() == ["b"]
    await three.tick("a", "c")
    assert {role.primary for role in three.roles.values()} == {"b"}


async def test_members_that_stand_at_the_same_moment_elect_one() -> None:
    three = Three()
    await three.tick(*NAMES)
    await three.tick(*NAMES)
    assert len(three.acting()) == 1
    assert len(three.register.winners) == 1


async def test_a_silent_primary_is_replaced_once_the_timeout_is_over_and_not_before() -> None:
    three = Three()
    old = await three.elected()
    others = [name for name in NAMES if name != old]
    three.clock.now += TIMEOUT_S - 0.1
    await three.tick(*others)
    assert three.roles[others[0]].primary == old
    three.clock.now += 0.2
    await three.tick(*others)
    assert three.acting() in ([others[0]], [others[1]])


async def test_a_restarted_primary_never_resumes_its_term() -> None:
    three = Three()
    old = await three.elected()
    three.restart(old)
    await three.tick(old)
    assert three.roles[old].primary != old or three.members[old].held_term == 2


async def test_without_a_majority_a_primary_steps_down_and_nobody_is_elected() -> None:
    three = Three()
    primary = await three.elected()
    three.clock.now += TIMEOUT_S + 1
    await three.tick(primary)
    assert three.acting() == []
    await three.tick(primary)
    assert three.acting() == []


async def test_a_member_that_died_with_its_primary_does_not_help_to_elect_the_next() -> None:
    three = Three()
    old = await three.elected()
    second, last = (name for name in NAMES if name != old)
    three.clock.now += 0.1 * TIMEOUT_S  # the second dies a moment after the primary
    await three.tick(second, last)
    for _ in range(30):
        three.clock.now += 0.05 * TIMEOUT_S
        await three.tick(last)
        assert last not in three.acting()


async def test_who_gives_up_is_replaced_at_once_and_stays_out_for_a_while() -> None:
    three = Three()
    old = await three.elected()
    others = [name for name in NAMES if name != old]
    await three.members[old].give_up(5)
    three.roles[old] = Role(None)
    await three.tick(*others)
    (new,) = three.acting()
    assert new != old
    await three.members[old].look()
    assert not three.members[old].can_be_elected(old)
    three.clock.now += 5.1
    await three.tick(*NAMES)
    assert three.members[new].can_be_elected(old)


async def test_who_leaves_is_not_waited_for() -> None:
    three = Three()
    old = await three.elected()
    await three.members[old].leave()
    assert not any(election.is_up(old) for election in [await _looked(three, name) for name in NAMES])


async def _looked(three: Three, name: str) -> Election:
    await three.members[name].look()
    return three.members[name]


async def test_a_frozen_member_does_not_stand() -> None:
    three = Three()
    three.members["a"].freeze(3)
    await three.tick("b")
    await three.tick("a")
    assert three.acting() == []
    three.clock.now += 3.1
    await three.tick("b", "a")
    assert len(three.acting()) == 1


events = st.lists(
    st.tuples(
        st.sampled_from(["tick", "restart", "give_up", "leave"]), st.sets(st.sampled_from(NAMES), min_size=1)
    )
    | st.tuples(st.just("wait"), st.floats(0.05, 15)),
    max_size=60,
)


@given(script=events, seed=st.integers(0, 999))
@settings(max_examples=150, deadline=None)
def test_never_do_two_members_act_at_the_same_time(
    script: list[tuple[str, set[str] | float]], seed: int
) -> None:
    asyncio.run(_play(script, random.Random(seed)))


async def _play(script: list[tuple[str, set[str] | float]], rng: random.Random) -> None:
    three, terms = Three(), 0
    for event, argument in script:
        if isinstance(argument, float):
            three.clock.now += argument
        else:
            names = rng.sample(sorted(argument), len(argument))
            await _do(three, event, names)
        assert len(three.acting()) <= 1
        assert max(three.register.winners, default=0) >= terms
        terms = max(three.register.winners, default=0)


async def _do(three: Three, event: str, names: list[str]) -> None:
    if event == "tick":
        await three.tick(*names)
        return
    for name in names:
        if event == "restart":
            three.restart(name)
            continue
        member = three.members[name]
        await (member.give_up(3) if event == "give_up" else member.leave())
        three.roles[name] = Role(None)
