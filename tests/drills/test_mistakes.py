"""A user's mistake ends in one plain sentence and the right exit status, never in a traceback.

These need no stack, so the command runs in this process.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from chaos import cli
from tests.drills.conftest import SHORT, Finished

Run = Callable[..., Finished]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`feedstorm ...` in an empty directory where no stack is up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEEDSTORM_HOME", str(tmp_path / "home"))

    def command(*arguments: str) -> Finished:
        monkeypatch.setattr("sys.argv", ["feedstorm", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Finished(code, captured.out, captured.err)

    return command


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
        (("seed", "--users", "100"), 2, "--celebrity-followers must be below --users"),
        (("swarm", "--arrivals", "60"), 2, "'60' is not a rate"),
        (("up", "--set", "RPS=1"), 2, "is not a setting of the app"),
        (("swarm",), 4, "no stack is up"),
        (("inject", "kill", "redis"), 4, "no stack is up"),
        (("inject", "kil", "redis"), 2, "no fault 'kil' (did you mean 'kill'?)"),
        (("inject", "kill", "reddis"), 2, "did you mean 'redis'?"),
        (("inject", "latency", "link:app->redis", "--with", "dely=3s"), 2, "did you mean 'delay'?"),
        (("audit",), 2, "no run 'latest'"),
        (("report", "nope"), 2, "no run 'nope'"),
    ],
)
def test_one_sentence(arguments: tuple[str, ...], code: int, words: str, run: Run) -> None:
    ran = run(*arguments)
    assert ran.code == code, ran.out + ran.err
    assert words in ran.sentence
    assert ran.out == ""
    plain = [line for line in ran.sentence.splitlines() if line and not line.startswith(("Usage", "Try"))]
    assert len(plain) == 1, ran.sentence


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "on: mongo:primary",
            "on: mongo:primray",
            "short.yaml:7: 'mongo:primray' is not a role (did you mean",
        ),
        ("inject: kill", "inject: destroy", "short.yaml:7: no fault 'destroy'"),
        ("targets:", "tragets:", "no key 'tragets' here (did you mean 'targets'?)"),
    ],
)
def test_a_bad_drill_file_names_the_line(old: str, new: str, words: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(SHORT.replace(old, new, 1))
    ran = run("drill", "short.yaml")
    assert ran.code == 2
    assert words in ran.sentence


def test_a_dry_run_touches_nothing_and_needs_no_stack(run: Run, tmp_path: Path) -> None:
    ran = run("drill", "cascade", "--dry-run")
    assert ran.code == 0
    assert "kill on redis" in ran.out
    assert "kill on mongo:primary" in ran.out
    assert [path.name for path in tmp_path.iterdir()] == []


def test_heal_and_down_are_harmless_where_nothing_is(run: Run) -> None:
    assert run("heal").out.strip() == "nothing to heal"
    assert run("down").code == 0


def test_runs_that_cannot_be_written_are_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = run("report", "latest", "--runs", "file")
    assert ran.code == 2
