"""A dry run changes nothing, and no password gets into a run, a log or a message."""

from pathlib import Path

import pytest

from chaos import catalogue, cli, rundir
from chaos.drill import Drill
from chaos.errors import CouldNotRunError
from chaos.targets import Arsenal
from compose.stack import State
from tests.unit.chaos.fakes import FakeStack, fake_arsenal

SECRET = "hunter2"
URL = f"redis://admin:{SECRET}@127.0.0.1:6379/0"


def feedstorm(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["feedstorm", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def arsenal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arsenal:
    found, stack, _ = fake_arsenal(tmp_path)
    monkeypatch.setattr("chaos.commands.drills.attach", lambda home: stack)
    monkeypatch.setattr("chaos.commands.drills.arm", lambda *_: found)
    return found


@pytest.mark.parametrize("name", catalogue.names())
def test_a_dry_run_makes_no_changing_call_and_names_the_targets(
    name: str,
    arsenal: Arsenal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert feedstorm(monkeypatch, "drill", name, "--dry-run", "--home", str(tmp_path)) == 0
    printed = capsys.readouterr().out
    stack = arsenal.stack
    assert isinstance(stack, FakeStack)
    assert stack.control.calls == []
    assert set(stack.control.states.values()) == {State.RUNNING}
    assert arsenal.links is not None
    assert vars(arsenal.links)["cuts"] == set()
    assert vars(arsenal.links)["on_links"] == {}
    assert sorted(tmp_path.rglob("*")) == before
    assert "nothing is touched" in printed
    if "mongo:primary" in printed:
        assert "(now: mongo2)" in printed


def test_the_record_of_a_run_holds_no_password(tmp_path: Path) -> None:
    drill = catalogue.find("mongo-primary-kill").to_dict()
    drill["stack"] = {"env": {"FEED_REDIS_URL": URL}}
    parsed: Drill = catalogue.parse(str(drill).replace("'", '"').replace("None", "null"))
    directory = rundir.create(tmp_path, "d")
    rundir.describe(directory, parsed, FakeStack(tmp_path), seed=1, command=f"feedstorm --set X={URL}")
    log = tmp_path / "api1.log"
    log.write_text(f"could not reach {URL}\n")
    rundir.copy_logs(directory, [log, tmp_path / "missing.log"])
    everything = "".join(path.read_text() for path in directory.rglob("*") if path.is_file())
    assert "127.0.0.1:6379" in everything
    assert SECRET not in everything


def test_an_error_that_quotes_an_address_hides_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fails(home: Path) -> None:
        raise CouldNotRunError(f"cannot reach {URL}")

    monkeypatch.setattr("chaos.commands.stack.attach", fails)
    assert feedstorm(monkeypatch, "status", "--home", str(tmp_path)) == 4
    told = capsys.readouterr().err
    assert "cannot reach redis://127.0.0.1:6379/0" in told
    assert SECRET not in told


def test_runs_of_the_same_second_have_names_of_their_own_and_latest_is_the_last(tmp_path: Path) -> None:
    made = [rundir.create(tmp_path, "d") for _ in range(3)]
    assert len(set(made)) == 3
    assert (tmp_path / "latest").resolve() == made[-1]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CouldNotRunError, match=r"could not be made: .*; choose another with --runs"):
        rundir.create(tmp_path / "file", "d")
