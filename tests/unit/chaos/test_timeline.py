from hypothesis import given
from hypothesis import strategies as st

from chaos.drill import Choice, Drill, Phases, Step
from chaos.timeline import acts_of, end_of_fault_phase, length_of
from chaos.units import Seconds

PHASES = Phases(warmup=Seconds(5), baseline=Seconds(15), recovery=Seconds(20))


def drill(*steps: Step, phases: Phases = PHASES) -> Drill:
    return Drill(drill="d", question="?", timeline=list(steps), phases=phases)


def step(at: float, hold: float = 10, **more: object) -> Step:
    return Step(at=Seconds(at), inject="kill", on="redis", hold=Seconds(hold), **more)  # type: ignore[arg-type]  # options of a test


def test_one_step_is_one_act() -> None:
    (act,) = acts_of(drill(step(20, 15)), seed=1)
    assert (act.at_s, act.ends_s, act.fault, act.on) == (20, 35, "kill", "redis")


def test_acts_come_in_order_of_time_and_the_last_heal_ends_the_fault_phase() -> None:
    plan = drill(step(30, 2), step(20, 25))
    acts = acts_of(plan, seed=1)
    assert [act.at_s for act in acts] == [20, 30]
    assert end_of_fault_phase(plan, acts) == 45
    assert length_of(plan, acts) == 65


def test_a_drill_without_faults_has_its_moment_of_truth_all_the_same() -> None:
    plan = drill(
        phases=Phases(warmup=Seconds(5), baseline=Seconds(15), fault=Seconds(30), recovery=Seconds(0))
    )
    assert end_of_fault_phase(plan, []) == 50


def test_every_repeats_up_to_times_and_until() -> None:
    by_times = acts_of(drill(step(20, 1, every=Seconds(10), times=3)), seed=1)
    by_until = acts_of(drill(step(20, 1, every=Seconds(10), until=Seconds(50))), seed=1)
    assert [act.at_s for act in by_times] == [20, 30, 40]
    assert [act.at_s for act in by_until] == [20, 30, 40]


def walk() -> Drill:
    choices = [
        Choice(inject="kill", on="redis"),
        Choice(inject="pause", on="kafka"),
        Choice(inject="kill", on="api:any"),
    ]
    return drill(Step(at=Seconds(20), every=Seconds(10), times=20, pick=choices))


@given(st.integers())
def test_the_same_seed_draws_the_same_walk(seed: int) -> None:
    assert acts_of(walk(), seed) == acts_of(walk(), seed)


def test_other_seeds_draw_other_walks() -> None:
    assert len({tuple(act.fault + act.on for act in acts_of(walk(), seed)) for seed in range(10)}) > 5


@given(st.lists(st.tuples(st.integers(20, 100), st.integers(1, 50)), min_size=1), st.integers())
def test_no_act_outlives_the_fault_phase(steps: list[tuple[int, int]], seed: int) -> None:
    plan = drill(*(step(at, hold) for at, hold in steps))
    acts = acts_of(plan, seed)
    assert len(acts) == len(steps)
    assert [act.at_s for act in acts] == sorted(act.at_s for act in acts)
    assert all(act.ends_s <= end_of_fault_phase(plan, acts) for act in acts)
