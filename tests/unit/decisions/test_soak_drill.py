"""A soak is a drill whose faults come back until the time is up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.drill import Load, Population
from chaos.errors import UsageError
from chaos.soak.soak_drill import RECOVERY, Now, drill_of
from chaos.timeline import acts_of, length_of
from chaos.units import Seconds
from results.targets import parse_target

HOLD = Seconds(15)


def acts(length: float, *faults: Now) -> list[float]:
    drill = drill_of(Seconds(length), faults, HOLD, Load(), Population())
    return [act.at_s for act in acts_of(drill, 1)]


def test_a_fault_comes_back_after_the_baseline() -> None:
    assert acts(2 * 3600, Now(Seconds(1800), "kill", "redis")) == [1840, 3640, 5440]


def test_one_that_is_rarer_than_the_soak_comes_once_in_the_middle() -> None:
    assert acts(300, Now(Seconds(3600), "kill", "redis")) == [160]


def test_a_soak_without_faults_is_steady_load() -> None:
    drill = drill_of(Seconds(600), [], HOLD, Load(), Population())
    assert acts_of(drill, 1) == []
    assert length_of(drill, []) == 600
    for target in drill.targets:
        parse_target(target)


@given(st.integers(120, 20_000), st.integers(20, 3000))
def test_every_fault_is_over_before_the_recovery(length: int, every: int) -> None:
    drill = drill_of(Seconds(length), [Now(Seconds(every), "kill", "redis")], HOLD, Load(), Population())
    found = acts_of(drill, 1)
    assert found
    assert all(act.ends_s <= length - RECOVERY for act in found)
    assert length_of(drill, found) == length


@pytest.mark.parametrize(
    ("length", "now", "why"),
    [
        (30, Now(Seconds(60), "kill", "redis"), "it takes at least 60s"),
        (600, Now(Seconds(60), "kil", "redis"), r"no fault 'kil' \(did you mean 'kill'\?\)"),
        (600, Now(Seconds(10), "kill", "redis"), "choose a longer --every or a shorter --hold"),
        (65, Now(Seconds(60), "kill", "redis"), "never comes within 65s"),
    ],
)
def test_what_cannot_work_ends_in_a_sentence(length: float, now: Now, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        drill_of(Seconds(length), [now], HOLD, Load(), Population())
