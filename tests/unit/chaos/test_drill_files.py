import json
from pathlib import Path

import pytest

from chaos import catalogue
from chaos.errors import DrillError, UsageError
from chaos.units import PerSecond, Seconds

GOOD = """\
drill: two-faults
question: Does it hold?
load: {arrivals: 60/s}
timeline:
  - {at: 20s, inject: kill, on: redis, for: 15s}
  - {at: 25s, inject: latency, on: link:app->mongo, for: 5s, with: {delay: 200ms}}
targets: [feed.error_rate < 1% in fault]
proof: [a read failed while redis was down]
"""


def test_a_drill_is_read_with_its_units() -> None:
    drill = catalogue.parse(GOOD)
    assert drill.load.arrivals == PerSecond(60)
    assert drill.timeline[0].at == Seconds(20)
    assert drill.timeline[0].hold == Seconds(15)
    assert drill.timeline[0].on == "redis", "`on` is a word here, not YAML 1.1's true"


def test_what_a_drill_writes_into_the_record_reads_back_as_the_same_drill() -> None:
    drill = catalogue.parse(GOOD)
    assert catalogue.parse(json.dumps(drill.to_dict())) == drill


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("question:", "qestion:", 2, "no key 'qestion' here (did you mean 'question'?)"),
        ("arrivals: 60/s", "arrivals: 60", 3, "'60' is not a rate: write it like 60/s"),
        ("60/s}", "60/s, shape: spik}", 3, "shape 'spik' is not known: choose one of steady"),
        ("60/s}", '60/s, shape: "spike:a=2"}', 3, "shape 'spike' has no option 'a'"),
        ("at: 20s", "at: 20", 5, "'20' is not a duration"),
        ("at: 20s", "at: 2s", 5, "2s is before the fault phase, which begins at 20s"),
        ("inject: kill", "inject: kil", 5, "no fault 'kil' (did you mean 'kill'?)"),
        ("on: redis", "on: reddis", 5, "no component 'reddis' (did you mean 'redis'?)"),
        ("on: redis", "on: link:app->redis", 5, "'kill' works on a member"),
        ("on: link:app->mongo", "on: kafka", 6, "'latency' works on a link"),
        ("delay: 200ms", "dely: 200ms", 6, "no option 'dely' (did you mean 'delay'?)"),
        (", with: {delay: 200ms}", "", 6, "missing required field `delay`"),
        (", for: 15s", "", 5, "'kill' needs `for`"),
        ("feed.error_rate <", "feed.eror_rate <", 7, "eror_rate"),
        ("in fault", "in falt", 7, "falt"),
        ("a read failed", "something happened", 8, "not a known proof"),
        ("proof: [a read failed while redis was down]", "", 4, "`proof` does not say"),
        ("targets: [feed.error_rate < 1% in fault]", "invariants: [no_loss]", 7, "no invariant 'no_loss'"),
        ("targets: [feed.error_rate < 1% in fault]", "", 1, "nothing could fail"),
        ("drill: two-faults", "drill: Two Faults", 1, "is not a name"),
        ("for: 15s}", "for: 15s, every: 5s}", 5, "it would never end"),
        ("timeline:", "timeline: [", 5, "is not YAML"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_line(old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    with pytest.raises(DrillError) as caught:
        catalogue.parse(GOOD.replace(old, new), "my.yaml")
    message = str(caught.value)
    assert message.startswith(f"my.yaml:{line}: "), message
    assert words in message
    assert "\n" not in message


def test_a_list_is_not_a_drill() -> None:
    with pytest.raises(DrillError, match="is not a drill"):
        catalogue.parse("- a\n- b\n")


def test_a_missing_file_and_a_missing_name_are_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(DrillError, match="cannot be read: No such file"):
        catalogue.find(str(tmp_path / "x.yaml"))
    with pytest.raises(UsageError, match="did you mean 'mongo-primary-kill'"):
        catalogue.find("mongo-primary-kil")


@pytest.mark.parametrize("name", catalogue.names())
def test_every_shipped_drill_is_sound_and_asks_a_question(name: str) -> None:
    drill = catalogue.find(name)
    assert drill.drill == name
    assert drill.question.endswith("?")
    assert drill.invariants, "a drill that audits nothing cannot find a lost write"
