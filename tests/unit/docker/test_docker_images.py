"""What goes into the images is what their programs import, in the versions that pyproject.toml states."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from compose.docker.needs import APP, IMAGES, SWARM, needs

ROOT = Path(__file__).parents[3]
OURS = {"chaos", "compose", "loadtests", "reference_app", "results"}
CALLED = {"PyYAML": "yaml", "kafka-python": "kafka", "prometheus-client": "prometheus_client"}
INDIRECT = {
    "gevent",
    "geventhttpclient",
    "flask",
    "werkzeug",
    "zmq",
    "requests",
    "urllib3",
}  # by way of locust
BY_PYMONGO = {"bson", "gridfs"}


PROGRAMS = {
    "app": (
        "reference_app.__main__",
        "compose.docker.init",
        "compose.docker.shards",
        "compose.docker.exporter",
    ),
    "swarm": ("loadtests.locustfile",),
}
"""What the containers run."""


def stages() -> dict[str, str]:
    """The two final stages of the Dockerfile."""
    parts = re.split(r"^FROM ", (ROOT / "compose/Dockerfile").read_text(), flags=re.MULTILINE)[1:]
    return {match[1]: part for part in parts if (match := re.match(r"\S+ AS (app|swarm)\b", part))}


def copied(stage: str) -> set[Path]:
    """The files of the repository that a stage holds."""
    named = [
        ROOT / name
        for line in re.findall(r"^COPY (?!--from)(.+)$", stage, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    return {file for path in named for file in ([path] if path.is_file() else path.rglob("*"))}


def file_of(module: str) -> Path | None:
    """Where a module of ours is."""
    path = ROOT.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def ours_imported_by(file: Path) -> set[Path]:
    """The files of ours that a file imports, packages on the way included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    wanted = [name for name in names if name.partition(".")[0] in OURS]
    whole = {
        ".".join(parts[: end + 1]) for parts in (n.split(".") for n in wanted) for end in range(len(parts))
    }
    return {found for name in whole if (found := file_of(name))}


@pytest.mark.parametrize("image", sorted(PROGRAMS))
def test_every_file_that_a_program_imports_is_in_its_image(image: str) -> None:
    needed, new = set[Path](), {file for program in PROGRAMS[image] if (file := file_of(program))}
    assert len(new) == len(PROGRAMS[image])
    while new:
        needed |= new
        new = {each for file in new for each in ours_imported_by(file)} - needed
    missing = needed - copied(stages()[image])
    assert not missing, f"compose/Dockerfile copies no {sorted(str(each) for each in missing)}"


def imported(folder: Path) -> set[str]:
    """The top-level names of every module that the folder's files import, anywhere in them."""
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - OURS


def provided(names: set[str]) -> set[str]:
    return {CALLED.get(name, name) for name in names} | (BY_PYMONGO if "pymongo" in names else set())


def test_the_app_image_holds_everything_that_the_app_imports() -> None:
    assert imported(ROOT / "reference_app") <= provided(APP)


def test_the_swarm_image_holds_everything_that_the_swarm_imports() -> None:
    assert imported(ROOT / "loadtests") <= provided(SWARM) | INDIRECT


@pytest.mark.parametrize("image", sorted(IMAGES))
def test_versions_are_those_of_the_project(image: str) -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    lines = needs(image, ROOT / "pyproject.toml")
    assert len(lines) == len(IMAGES[image])
    assert set(lines) <= set(listed)


def test_a_need_that_the_project_does_not_list_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["redis==1"]\n')
    with pytest.raises(KeyError):
        needs("app", tmp_path / "pyproject.toml")


def test_the_app_runs_as_a_user_of_its_own_and_is_health_checked() -> None:
    final = stages()
    assert set(final) == {"app", "swarm"}
    assert all(re.search(r"^USER [1-9]\d*$", stage, re.MULTILINE) for stage in final.values())
    assert "HEALTHCHECK" in final["app"]


def test_every_image_is_pinned_to_a_full_version() -> None:
    lines = (ROOT / "compose/versions.env").read_text().splitlines()
    pinned = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert all(re.search(r":v?\d+\.\d+\.\d+", image) for image in pinned.values()), pinned
    used = re.findall(r"\$\{(\w+_IMAGE)\}", (ROOT / "compose/docker-compose.yml").read_text())
    assert set(used) | {"PYTHON_IMAGE"} == set(pinned)
