"""A user's mistake ends in one plain sentence and the right exit status, never in a traceback."""

from pathlib import Path

import pytest

from tests.drills.conftest import SHORT, Shell


@pytest.fixture
def place(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("drill", "mongo-primary-kil"), 2, "did you mean 'mongo-primary-kill'?"),
        (("drill", "missing.yaml"), 2, "missing.yaml: cannot be read"),
        (("drill", "mongo-primary-kill", "--stack", "cloud"), 2, "'cloud' is not one of"),
        (("drill", "kafka-kill"), 2, "cannot be run on the embedded stack"),
        (("drill", "redis-kill", "--for", "2m"), 2, "repeats nothing"),
        (("drill", "random-walk", "--for", "2"), 2, "'2' is not a duration"),
        (("status",), 4, "no stack is up"),
        (("seed",), 4, "no stack is up"),
        (("swarm",), 4, "no stack is up"),
        (("inject", "kill", "redis"), 4, "no stack is up"),
        (("inject", "kil", "redis"), 2, "'kil' is not one of"),
        (("inject", "kill", "reddis"), 2, "did you mean 'redis'?"),
        (("inject", "latency", "link:app->redis", "--with", "dely=3s"), 2, "did you mean 'delay'?"),
        (("audit",), 2, "no run 'latest'"),
        (("report", "nope"), 2, "no run 'nope'"),
    ],
)
def test_one_sentence(arguments: tuple[str, ...], code: int, words: str, place: Shell) -> None:
    ran = place.run(*arguments)
    assert ran.code == code, ran.out + ran.err
    assert words in ran.sentence
    assert ran.out == ""
    plain = [line for line in ran.sentence.splitlines() if line and not line.startswith(("Usage", "Try"))]
    assert len(plain) == 1, ran.sentence


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("on: mongo:primary", "on: mongo:primray", "short.yaml:6: 'mongo:primray'"),
        ("inject: kill", "inject: destroy", "short.yaml:6: no fault 'destroy'"),
        ("targets:", "tragets:", "no key 'tragets' here (did you mean 'targets'?)"),
    ],
)
def test_a_bad_drill_file_names_the_line(old: str, new: str, words: str, place: Shell) -> None:
    ran = place.run("drill", place.write("short.yaml", SHORT.replace(old, new, 1)))
    assert ran.code == 2
    assert words in ran.sentence


def test_a_dry_run_touches_nothing_and_needs_no_stack(place: Shell) -> None:
    ran = place.run("drill", "cascade", "--dry-run")
    assert ran.code == 0
    assert "kill on redis" in ran.out
    assert "kill on mongo:primary" in ran.out
    assert [path.name for path in place.directory.iterdir()] == []


def test_heal_and_down_are_harmless_where_nothing_is(place: Shell) -> None:
    assert place.run("heal").out.strip() == "nothing to heal"
    assert place.run("down").code == 0


def test_runs_that_cannot_be_written_are_one_sentence(place: Shell) -> None:
    place.write("file", "")
    ran = place.run("report", "latest", "--runs", "file")
    assert ran.code == 2
