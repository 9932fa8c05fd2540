"""What every MemberControl promises, under every restart policy: done when it returns, and safe to repeat."""

import asyncio

import pytest

from compose.stack import StackError, State
from compose.waiting import wait_until
from tests.contract.docker.playground import Playground

MEMBERS = ("never", "on-failure", "always", "unless-stopped")


@pytest.fixture(params=MEMBERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def settle(ground: Playground, name: str) -> None:
    asyncio.run(wait_until(lambda: ground.answers(name), f"{name} answering", within_s=10))


def test_a_killed_member_is_down_at_once_and_stays_down(everybody_up: Playground, name: str) -> None:
    everybody_up.control.kill(name)
    assert everybody_up.control.state(name) is State.DOWN
    assert not everybody_up.answers(name)


def test_a_terminated_member_is_down_at_once_and_stays_down(everybody_up: Playground, name: str) -> None:
    everybody_up.control.terminate(name)
    assert everybody_up.control.state(name) is State.DOWN


def test_a_killed_member_that_is_started_answers_again(everybody_up: Playground, name: str) -> None:
    everybody_up.control.kill(name)
    everybody_up.control.start(name)
    assert everybody_up.control.state(name) is State.RUNNING
    settle(everybody_up, name)


def test_a_member_has_another_life_after_every_start(everybody_up: Playground, name: str) -> None:
    control = everybody_up.control
    first = control.life(name)
    assert control.life(name) == first
    control.terminate(name)
    control.start(name)
    assert control.life(name) != first


def test_a_paused_member_answers_nobody_until_it_is_resumed(everybody_up: Playground, name: str) -> None:
    everybody_up.control.pause(name)
    assert everybody_up.control.state(name) is State.PAUSED
    assert not everybody_up.answers(name)
    everybody_up.control.resume(name)
    assert everybody_up.control.state(name) is State.RUNNING
    settle(everybody_up, name)


@pytest.mark.parametrize("verb", ["kill", "terminate"])
def test_a_paused_member_can_be_ended(everybody_up: Playground, verb: str) -> None:
    everybody_up.control.pause("never")
    getattr(everybody_up.control, verb)("never")
    assert everybody_up.control.state("never") is State.DOWN


@pytest.mark.parametrize("verbs", [("kill", "kill"), ("terminate", "kill"), ("kill", "terminate")])
def test_ending_a_member_that_is_down_changes_nothing(
    everybody_up: Playground, verbs: tuple[str, str]
) -> None:
    for verb in verbs:
        getattr(everybody_up.control, verb)("always")
    assert everybody_up.control.state("always") is State.DOWN


@pytest.mark.parametrize("verb", ["pause", "resume", "start"])
def test_repeating_an_act_changes_nothing(everybody_up: Playground, verb: str) -> None:
    control = everybody_up.control
    getattr(control, verb)("never")
    before = control.state("never")
    getattr(control, verb)("never")
    assert control.state("never") is before


def test_starting_a_paused_member_leaves_it_paused(everybody_up: Playground) -> None:
    everybody_up.control.pause("never")
    everybody_up.control.start("never")
    assert everybody_up.control.state("never") is State.PAUSED


def test_resuming_a_member_that_is_down_does_not_start_it(everybody_up: Playground) -> None:
    everybody_up.control.kill("never")
    everybody_up.control.resume("never")
    assert everybody_up.control.state("never") is State.DOWN


def test_pausing_a_member_that_is_down_is_refused(everybody_up: Playground) -> None:
    everybody_up.control.kill("never")
    with pytest.raises(StackError, match=r"never .*down"):
        everybody_up.control.pause("never")


def test_a_member_that_does_not_exist_is_gone_and_cannot_be_acted_on(everybody_up: Playground) -> None:
    assert everybody_up.control.state("nobody") is State.GONE
    for verb in ("kill", "terminate", "pause", "resume", "start"):
        with pytest.raises(StackError, match="nobody"):
            getattr(everybody_up.control, verb)("nobody")
