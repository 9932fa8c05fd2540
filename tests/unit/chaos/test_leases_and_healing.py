import random
import re
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaos.capabilities import OURS
from chaos.errors import CannotInjectError
from chaos.faults import make
from chaos.healing import heal, remove_stray_toxics
from chaos.injection import Injected, inject
from chaos.leases import Lease, LeaseBook, Owner
from chaos.reaper import heal_overdue
from compose.stack import State
from results.history import EVENTS, Event, read_rows
from results.history import Fault as FaultEvent
from tests.unit.chaos.fakes import FakeStack, fake_arsenal


class Bench:
    """A fake stack with a lease book, and a hand to put faults on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.arsenal, self.stack, self.links = fake_arsenal(home)
        self.book = LeaseBook(home)
        self.count = 0

    def put(self, fault: str, on: str, **options: object) -> Injected:
        self.count += 1
        lease = Lease.draw(make(fault, options), on, held_for_s=10, number=self.count, run=str(self.home))
        return inject(lease, on, self.arsenal, self.book, random.Random(1))

    def heal(self, *injected: Injected) -> list[str]:
        healings = heal([each.lease for each in injected], self.arsenal, self.book)
        return [f"{healing.target} {healing.stage}" for healing in healings]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_lease_is_on_disk_before_the_fault_is_in(bench: Bench) -> None:
    seen: list[int] = []
    kill = bench.stack.control.kill
    bench.stack.control.kill = lambda name: (seen.append(len(bench.book.all())), kill(name))[1]  # type: ignore[func-returns-value, method-assign]  # a spy
    bench.put("kill", "redis")
    assert seen == [1]


def test_a_lease_that_cannot_be_written_keeps_the_fault_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(lease: Lease) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(bench.book, "write", full)
    with pytest.raises(OSError, match="disk full"):
        bench.put("kill", "redis")
    assert bench.stack.control.calls == []


def test_healing_undoes_and_closes_the_lease_and_again_is_harmless(bench: Bench) -> None:
    injected = bench.put("kill", "mongo:primary")
    assert bench.stack.control.state("mongo2") == State.DOWN
    assert bench.heal(injected) == ["mongo2 healed"]
    assert bench.stack.control.state("mongo2") == State.RUNNING
    assert bench.book.all() == []
    calls = list(bench.stack.control.calls)
    assert bench.heal(injected) == []
    assert bench.stack.control.calls == calls


def test_what_half_an_injection_did_is_undone(bench: Bench) -> None:
    bench.stack.control.broken = {"mongo3"}
    with pytest.raises(CannotInjectError, match="does not listen"):
        bench.put("pause", "mongo:all")
    assert bench.stack.control.state("mongo1") == State.RUNNING
    assert bench.book.all() == []


def test_one_undo_that_fails_does_not_keep_the_others_from_being_done(bench: Bench) -> None:
    injected = bench.put("pause", "mongo:all")
    bench.stack.control.broken = {"mongo2"}
    assert sorted(bench.heal(injected)) == ["mongo1 healed", "mongo2 heal_failed", "mongo3 healed"]
    (left,) = bench.book.all()
    assert left.targets == ["mongo2"]
    assert "does not listen" in left.last_error
    bench.stack.control.broken = set()
    assert bench.heal(injected) == ["mongo2 healed"], "a later attempt can still heal it"
    assert bench.book.all() == []


def test_two_faults_that_hold_a_member_down_let_it_up_only_together(bench: Bench) -> None:
    first, second = bench.put("pause", "redis"), bench.put("pause", "redis")
    bench.heal(first)
    assert bench.stack.control.state("redis") == State.PAUSED
    bench.heal(second)
    assert bench.stack.control.state("redis") == State.RUNNING


def test_a_pause_around_a_kill_is_in_force_again_after_the_kill_is_healed(bench: Bench) -> None:
    outer, inner = bench.put("pause", "redis"), bench.put("kill", "redis")
    bench.heal(inner)
    assert bench.stack.control.state("redis") == State.PAUSED
    bench.heal(outer)
    assert bench.stack.control.state("redis") == State.RUNNING


def test_everything_at_once_is_undone_newest_first(bench: Bench) -> None:
    first, second = bench.put("pause", "mongo:primary"), bench.put("kill", "kafka")
    bench.stack.control.calls.clear()
    bench.heal(first, second)
    assert bench.stack.control.calls == ["start kafka", "resume mongo2"]
    assert set(bench.stack.control.states.values()) == {State.RUNNING}


def test_a_member_that_is_gone_heals_to_gone_and_is_reported(bench: Bench) -> None:
    injected = bench.put("kill", "redis")
    bench.stack.members = tuple(member for member in bench.stack.members if member.name != "redis")
    (healing,) = heal([injected.lease], bench.arsenal, bench.book)
    assert healing.stage == "healed"
    assert "gone" in healing.detail
    assert bench.book.all() == []


def test_a_stack_that_is_gone_has_no_faults_in_force(bench: Bench) -> None:
    injected = bench.put("kill", "redis")
    (healing,) = heal([injected.lease], None, bench.book)
    assert "gone" in healing.detail
    assert bench.book.all() == []


@pytest.mark.parametrize(
    ("fault", "role", "instead"),
    [
        ("cut", "redis", "redis is a member; take link:api->redis or link:worker->redis"),
        ("kill", "link:app->mongo1", "app->mongo1 is a link; take mongo1"),
    ],
)
def test_who_confuses_members_and_links_is_told_what_to_take(
    bench: Bench, fault: str, role: str, instead: str
) -> None:
    with pytest.raises(CannotInjectError, match=re.escape(instead)):
        bench.put(fault, role)
    assert bench.book.all() == []


def test_killing_what_is_down_already_is_refused_and_it_is_not_started_afterwards(bench: Bench) -> None:
    bench.stack.control.states["api1"] = State.DOWN
    with pytest.raises(CannotInjectError, match="down already"):
        bench.put("kill", "api:api1")
    assert bench.stack.control.state("api1") == State.DOWN
    assert bench.stack.control.calls == []


def test_link_faults_are_undone_by_name_and_foreign_toxics_stay(bench: Bench) -> None:
    bench.links.on_links["api->redis"] = {"theirs": "latency"}
    slow = bench.put("latency", "link:app->redis", delay="200ms")
    closed = bench.put("cut", "link:app->mongo:primary")
    assert len(bench.links.toxics("api->redis")) == 2
    assert bench.links.cuts == {"app->mongo2"}
    bench.heal(slow, closed)
    assert bench.links.toxics("api->redis") == {"theirs"}
    assert bench.links.cuts == set()


def test_the_history_gets_one_line_for_the_heal_and_one_for_its_proof(bench: Bench) -> None:
    bench.heal(bench.put("pause", "mongo:all"))
    stages = [event.stage for event in read_rows(bench.home / EVENTS, Event) if isinstance(event, FaultEvent)]
    assert stages == ["heal", "healed"]


def test_a_lease_is_overdue_past_its_deadline_or_without_its_owner(bench: Bench) -> None:
    lease = bench.put("kill", "redis").lease
    assert lease.why_overdue() == ""
    lease.until = time.monotonic() - 1
    assert "deadline" in lease.why_overdue()
    lease.owner = Owner(lease.owner.pid, lease.owner.started - 1000)
    assert "gone" in lease.why_overdue(), "a reused pid does not stand in for the owner"


def test_the_reaper_heals_what_is_overdue_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, overdue = bench.put("kill", "redis"), bench.put("kill", "kafka")
    overdue.lease.until = time.monotonic() - 1
    bench.book.write(overdue.lease)
    monkeypatch.setattr("chaos.reaper.attach", lambda home: bench.stack)
    monkeypatch.setattr("chaos.reaper.arm", lambda stack, home: bench.arsenal)
    heal_overdue(bench.home, bench.book)
    assert bench.stack.control.state("kafka") == State.RUNNING
    assert bench.stack.control.state("redis") == State.DOWN
    assert [lease.id for lease in bench.book.all()] == [kept.lease.id]


def test_a_lease_reads_back_as_it_was_written(bench: Bench) -> None:
    lease = bench.put("latency", "link:app->redis", delay="200ms", jitter="50ms").lease
    assert bench.book.all() == [lease]
    assert lease.make_fault() == make("latency", {"delay": "200ms", "jitter": "50ms"})
    assert msgspec.json.decode(msgspec.json.encode(lease), type=Lease) == lease


def test_a_file_that_is_no_lease_keeps_no_other_from_being_healed(bench: Bench) -> None:
    injected = bench.put("kill", "redis")
    broken = bench.home / "leases" / "00-broken.json"
    broken.write_text('{"id": ')
    assert [lease.id for lease in bench.book.all()] == [injected.lease.id]
    assert bench.book.unreadable() == [broken]
    assert bench.heal(injected) == ["redis healed"]


def test_fakes_are_stacks(tmp_path: Path) -> None:
    from compose.stack import Stack

    stack: Stack = FakeStack(tmp_path)
    assert stack.primary() == "mongo2"


def test_toxics_of_ours_without_a_lease_are_found_by_their_name_and_no_others(bench: Bench) -> None:
    bench.links.on_links["api->redis"] = {"theirs": "latency", f"{OURS}07-latency-dead": "latency"}
    kept = bench.put("latency", "link:worker->redis", delay="200ms")
    assert remove_stray_toxics(bench.arsenal, bench.book) == [("api->redis", f"{OURS}07-latency-dead")]
    assert bench.links.toxics("api->redis") == {"theirs"}
    assert len(bench.links.toxics("worker->redis")) == 1, "what a lease speaks of is in force, not a leftover"
    bench.heal(kept)


FAULTS_AND_ROLES = st.tuples(
    st.sampled_from(["kill", "stop", "pause"]), st.sampled_from(["redis", "mongo:mongo1"])
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(FAULTS_AND_ROLES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_any_faults_healed_in_any_order_leave_a_whole_stack(
    tmp_path_factory: pytest.TempPathFactory, faults: list[tuple[str, str]], rng: random.Random
) -> None:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    in_force: list[Injected] = []
    for fault, role in faults:
        with suppress(CannotInjectError):  # what is down cannot be killed or frozen, and is left as it is
            in_force.append(bench.put(fault, role))
    rng.shuffle(in_force)
    while in_force:
        bench.heal(in_force.pop())
        for name in ("redis", "mongo1"):
            assert bench.stack.control.state(name) == _expected(name, in_force)
    assert bench.book.all() == []


def _expected(name: str, in_force: list[Injected]) -> State:
    holds = {each.fault.hold for each in in_force if name in each.lease.targets}
    return State.DOWN if "down" in holds else State.PAUSED if "frozen" in holds else State.RUNNING
