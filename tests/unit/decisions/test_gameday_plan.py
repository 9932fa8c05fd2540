"""Plans of game days: what ships can be held, and mistakes end in a sentence that says where."""

from pathlib import Path

import pytest

from chaos.drill import Drill, StackWishes
from chaos.errors import DrillError, UsageError
from chaos.gameday import plan as plans

MINIMAL = """
gameday: tiny
title: A tiny day
briefing: Short.
stations:
  - {drill: redis-kill, briefing: Off it goes.}
"""


@pytest.mark.parametrize("name", plans.names())
def test_shipped_plans_hold_together(name: str) -> None:
    plan, drills = plans.find(name)
    assert plan.gameday == name
    assert [drill.drill for drill in drills] == [station.drill for station in plan.stations]
    assert len({repr(drill.population) for drill in drills}) == 1, "one stack has one population"
    plans.wishes_of(drills)
    for drill in drills:
        assert "embedded" not in drill.not_on
    for station in plan.stations:
        assert station.expect
        assert station.ask


def test_three_plans_ship() -> None:
    assert plans.names() == ["first-game-day", "mongo-day", "redis-day"]


def test_the_first_day_fits_into_45_minutes() -> None:
    plan, drills = plans.find("first-game-day")
    assert sum(station.talk for station in plan.stations) + 120 * len(drills) <= 45 * 60


def test_a_minimal_plan() -> None:
    plan = plans.parse(MINIMAL)
    assert (plan.gameday, plan.stations[0].seed, plan.stations[0].expect) == ("tiny", 1, [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("just words", "is no plan"),
        ("a: [", "is not YAML"),
        (MINIMAL.replace("title", "titel"), r"no key 'titel' here \(did you mean 'title'\?\)"),
        (
            MINIMAL.replace("briefing: Off", "brifing: Off"),
            r"no key 'brifing' here \(did you mean 'briefing'\?\)",
        ),
        (MINIMAL.replace("drill: redis-kill, ", ""), r"required field `drill` \(at stations\[0\]\)"),
        (MINIMAL.split("stations")[0] + "stations: []", "has no stations"),
        (MINIMAL.replace("}", ", talk: 5}"), "is not a duration"),
    ],
)
def test_a_wrong_plan_ends_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(DrillError, match=why):
        plans.parse(text, "plan.yaml")


def test_an_unknown_plan_or_drill_is_hinted_at(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'redis-day'"):
        plans.find("redisday")
    with pytest.raises(DrillError, match="cannot be read: No such file"):
        plans.find(str(tmp_path / "none.yaml"))
    file = tmp_path / "day.yaml"
    file.write_text(MINIMAL.replace("redis-kill", "redis-kil"))
    with pytest.raises(UsageError, match="did you mean 'redis-kill'"):
        plans.find(str(file))


def test_drill_files_are_looked_for_beside_the_plan(tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_text(MINIMAL.replace("redis-kill", "mine.yaml"))
    (tmp_path / "mine.yaml").write_text(
        "{drill: mine, question: 'Why not?', phases: {fault: 5s}, targets: [feed.error_rate < 5% in fault]}"
    )
    _, drills = plans.find(str(tmp_path / "day.yaml"))
    assert drills[0].drill == "mine"


def test_one_stack_serves_all_drills_or_none() -> None:
    one = Drill("one", "?", stack=StackWishes(env={"FEED_FALLBACK_RPS": "10"}))
    other = Drill("other", "?", stack=StackWishes(env={"FEED_STRATEGY": "push"}))
    assert plans.wishes_of([one, other]).env == {"FEED_FALLBACK_RPS": "10", "FEED_STRATEGY": "push"}
    against = Drill("against", "?", stack=StackWishes(env={"FEED_FALLBACK_RPS": "20"}))
    with pytest.raises(UsageError, match="against needs FEED_FALLBACK_RPS=20"):
        plans.wishes_of([one, against])
