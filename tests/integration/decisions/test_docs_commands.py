"""Every command line in the docs: quick ones are run, all others are at least understood."""

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from chaos import catalogue
from chaos.cli import cli
from chaos.gameday import plan as plans
from loadtests.settings import add_options

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = ("feedstorm", "locust", "make", "docker")
QUICK = re.compile(
    r"feedstorm (drills|plan( --set \S+)*|claims --list|completion \w+|drill [a-z-]+ --dry-run"
    r"|gameday|heal( --dry-run)?)"
)
PLACEHOLDER = re.compile(r"^[A-Z]{2,}$|^\.\.\.$|^N$|^<.*>$")
EVAL = re.compile(r'^eval "\$\((.*)\)"$')
LOCUST_WITHIN_S = 60


def commands(page: Path) -> Iterator[str]:
    """Lines of code blocks, and inline code, that begin with one of our programs."""
    text = page.read_text(encoding="utf-8")
    fenced = re.findall(r"^```(?:sh|console|bash)?\n(.*?)^```", text, flags=re.S | re.M)
    indented = re.findall(r"^    (.*)$", text, flags=re.M)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    for line in [*"\n".join(fenced).splitlines(), *indented, *inline]:
        found = EVAL.sub(r"\1", line.strip())
        if found and words(found)[:1] and words(found)[0] in PROGRAMS and len(words(found)) > 1:
            yield found


def words(line: str) -> list[str]:
    """As a shell would cut it; settings before the program, comments and what is piped to are left out."""
    try:
        cut = shlex.split(line, comments=True)
    except ValueError:
        return []
    cut = cut[: cut.index("|")] if "|" in cut else cut
    while cut and re.fullmatch(r"[A-Z_]+=.*", cut[0]):
        cut = cut[1:]
    return cut


def all_commands() -> list[tuple[str, str]]:
    found = {(page.name, line): None for page in PAGES for line in commands(page)}
    return [each for each in found if not any(PLACEHOLDER.match(word) for word in words(each[1]))]


COMMANDS = all_commands()


def of(program: str) -> list[pytest.param]:  # type: ignore[valid-type]  # pytest does not export the type
    return [pytest.param(line, id=f"{page}: {line}") for page, line in COMMANDS if words(line)[0] == program]


def test_the_docs_are_full_of_commands() -> None:
    assert len(of("feedstorm")) > 30
    assert len(of("locust")) >= 5
    assert {page for page, _ in COMMANDS} >= {"README.md", "getting-started.md", "gotchas.md"}


@pytest.mark.parametrize("line", of("feedstorm"))
def test_feedstorm_understands(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, name, *rest = words(line)
    monkeypatch.chdir(tmp_path)
    for file in (word for word in rest if word.endswith((".yaml", ".yml"))):
        Path(file).touch()  # a reader's own file
    assert name in cli.commands, f"no such command: {name}"
    command = cli.commands[name]
    values = command.make_context(name, list(rest), parent=click.Context(cli, info_name="feedstorm")).params
    if name == "drill" and not str(values["name"]).endswith(".yaml"):
        catalogue.find(values["name"])
    if name == "gameday" and values["plan"] and not values["plan"].endswith(".yaml"):
        plans.find(values["plan"])


@pytest.mark.parametrize("line", of("feedstorm"))
def test_quick_ones_do_what_the_docs_say(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = shlex.join(words(line))
    if not QUICK.fullmatch(command):
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEEDSTORM_HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(cli, words(line)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert result.output.strip()


def test_some_are_quick() -> None:
    quick = [line for _, line in COMMANDS if QUICK.fullmatch(shlex.join(words(line)))]
    assert len(quick) >= 8


@cache
def locust_options() -> frozenset[str]:
    """Locust's own options, as its help names them, and those that our locustfile adds."""
    done = subprocess.run(
        [sys.executable, "-m", "locust", "--help"],
        cwd=ROOT, capture_output=True, text=True, timeout=LOCUST_WITHIN_S, check=True,
    )  # fmt: skip
    ours = argparse.ArgumentParser()
    add_options(ours)
    return frozenset(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", done.stdout + ours.format_help()))


@pytest.mark.parametrize("line", of("locust"))
def test_locust_understands(line: str) -> None:
    cut = words(line)
    for option in (word for word in cut if re.match(r"--?[a-zA-Z]", word)):
        assert option in locust_options(), f"no option {option}"
    for word in cut:
        if word.endswith(".py"):
            assert (ROOT / word).is_file()


@pytest.mark.parametrize("line", of("make"))
def test_make_has_that_target(line: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    for word in words(line)[1:]:
        assert "=" in word or word in targets


@pytest.mark.parametrize("line", of("docker"))
def test_docker_commands_name_what_is_there(line: str) -> None:
    cut = words(line)
    for file in (cut[index + 1] for index, word in enumerate(cut) if word == "-f"):
        assert (ROOT / file).is_file()
    services = yaml.safe_load((ROOT / "compose" / "docker-compose.yml").read_text())["services"]
    for scale in (word for word in cut if word.startswith("--scale")):
        assert scale.partition("=")[2].partition("=")[0] in services or scale == "--scale"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps_of(workflow: Path) -> list[str]:
    """Every command of every job."""
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_commands_that_exist(workflow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"DRILL": "redis-kill", "GITHUB_RUN_NUMBER": "7", "SOAK": "2h"}
    found = 0
    for line in "\n".join(steps_of(workflow)).splitlines():
        cut = words(re.sub(r"\$(\w+)", lambda match: values.get(match[1], match[0]), line))
        if cut and cut[0].endswith("bin/feedstorm"):
            found += 1
            command = cli.commands[cut[1]]
            command.make_context(cut[1], cut[2:], parent=click.Context(cli, info_name="feedstorm"))
    assert found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_drills_that_ship(workflow: Path) -> None:
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    named = [
        name for job in jobs.values() for name in job.get("strategy", {}).get("matrix", {}).get("drill", [])
    ]
    assert set(named) <= set(catalogue.names())
