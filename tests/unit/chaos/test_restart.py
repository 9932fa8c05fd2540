"""A restart that changed nothing is a fault without effect."""

from pathlib import Path

from chaos.faults.restart import Restart
from chaos.targets import Arsenal, Target
from tests.unit.chaos.fakes import FakeControl, fake_arsenal


def redis_of(arsenal: Arsenal) -> Target:
    target = arsenal.member("redis")
    assert target is not None
    return target


def test_another_process_in_its_place_is_what_proves_it(tmp_path: Path) -> None:
    target, fault = redis_of(fake_arsenal(tmp_path)[0]), Restart()
    undo = fault.prepare(target, "lease")
    assert not fault.prove_bites(target, undo).seen, "nothing has been done yet"
    fault.inject(target, undo)
    assert fault.prove_bites(target, undo).seen


def test_a_start_that_starts_nothing_is_seen(tmp_path: Path) -> None:
    arsenal, stack, _ = fake_arsenal(tmp_path)
    target, fault = redis_of(arsenal), Restart()
    undo = fault.prepare(target, "lease")
    stack.control.start = lambda name: FakeControl.resume(stack.control, name)  # type: ignore[method-assign]
    fault.inject(target, undo)
    assert "the same process as before" in fault.prove_bites(target, undo).detail
