"""The command line as a whole: hints, completion, JSON, and no colours where none are wanted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from chaos.cli import cli
from chaos.commands.completion import VARIABLE
from results.verdict import judge
from tests.unit.results.histories import SyntheticRun


def run(*args: str, **env: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, list(args), env=env)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("typed", "meant"), [("dril", "drill"), ("gamday", "gameday"), ("claim", "claims"), ("soka", "soak")]
)
def test_a_mistyped_verb_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    code, output = run(typed)
    assert code == 2
    assert f"no command '{typed}' (did you mean '{meant}'?)" in output


def test_a_verb_like_none_lists_all() -> None:
    code, output = run("zzz")
    assert code == 2
    assert "known: " in output
    assert "heal" in output


def test_a_mistyped_option_is_hinted_at() -> None:
    code, output = run("soak", "--for", "2h", "--arival", "3/s")
    assert code == 2
    assert "--arrivals" in output


def test_help_lists_the_verbs_in_the_order_of_their_use() -> None:
    _, output = run("--help")
    assert output.index("\n  up ") < output.index("\n  drill ") < output.index("\n  report ")


def test_every_verb_says_what_it_does() -> None:
    for name, command in cli.commands.items():
        assert command.get_short_help_str(), name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(shell: str) -> None:
    code, output = run("completion", shell)
    assert code == 0
    assert VARIABLE in output
    assert f"{shell}_complete" in output


def test_completion_in_bash_completes(tmp_path: Path) -> None:
    """As bash does it: the script is sourced, and the function that it defines is asked."""
    _, script = run("completion", "bash")
    (tmp_path / "script").write_text(script)
    (tmp_path / "feedstorm").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m chaos.cli "$@"\n')
    (tmp_path / "feedstorm").chmod(0o755)
    ask = (
        f"source {tmp_path}/script; COMP_WORDS=(feedstorm game); COMP_CWORD=1; "
        'COMPREPLY=(); _feedstorm_completion feedstorm; echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", ask], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["gameday"], done.stderr


JSON = [
    ("drills",),
    ("plan",),
    ("claims", "--list"),
    ("gameday",),
    ("gameday", "redis-day", "--dry-run"),
    ("drill", "redis-kill", "--dry-run"),
]


@pytest.mark.parametrize("args", JSON, ids=" ".join)
def test_what_prints_a_table_prints_json_too(args: tuple[str, ...], tmp_path: Path) -> None:
    code, output = run(*args, "--json", FEEDSTORM_HOME=str(tmp_path))
    assert code == 0
    assert json.loads(output)


def tables() -> list[str]:
    """Commands that have something to show after they ran."""
    silent = {"up", "use", "down", "seed", "inject", "heal", "demo-graph", "completion"}
    return [name for name in cli.commands if name not in silent]


@pytest.mark.parametrize("name", tables())
def test_every_command_with_a_table_knows_json(name: str) -> None:
    assert any(
        "--json" in option.opts for option in cli.commands[name].params if isinstance(option, click.Option)
    )


def test_no_color_is_honoured(tmp_path: Path) -> None:
    synthetic = SyntheticRun(tmp_path).drill(targets=["all.error_rate < 5% in fault"]).usual_course()
    judge(synthetic.ops("GET /feed", 0, 65).history(), None)
    command = [sys.executable, "-m", "chaos.cli", "report", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    forced = {**environment, "FORCE_COLOR": "1", "TERM": "xterm-256color"}

    def colours(**more: str) -> set[str]:
        """The colours, not bold or dim, that the command uses."""
        done = subprocess.run(
            command, env={**forced, **more}, capture_output=True, text=True, timeout=60, check=True
        )
        codes = {code for found in re.findall(r"\x1b\[([\d;]+)m", done.stdout) for code in found.split(";")}
        return codes & {str(code) for code in (*range(30, 39), *range(90, 98))}

    assert colours(), "the check would not see a colour"
    assert colours(NO_COLOR="1") == set()
