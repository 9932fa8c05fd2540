import importlib.metadata
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from compose.embedded import parts
from compose.stack import StackError


def program(path: Path, says: str, status: int = 0) -> None:
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An otherwise empty PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(parts.TOXIPROXY_VARIABLE, raising=False)
    return tmp_path


@pytest.mark.usefixtures("path")
def test_the_packages_bring_everything() -> None:
    found = parts.find_parts()
    assert found.mongo.path is None
    assert "not MongoDB" in found.mongo.version
    assert found.redis.path
    assert "Valkey" in found.redis.version
    assert found.kafka.path
    assert found.proxy.path is None


@pytest.mark.parametrize(
    ("name", "find"),
    [
        ("mongod", parts.find_mongo),
        ("redis-server", parts.find_redis),
        ("valkey-server", parts.find_redis),
        ("toxiproxy-server", parts.find_proxy),
    ],
)
def test_what_is_on_path_is_preferred(path: Path, name: str, find: Callable[[], parts.Part]) -> None:
    program(path / name, "version 9.9")
    assert find() == parts.Part(str(path / name), f"version 9.9 ({name})")


def test_a_toxiproxy_elsewhere_is_named_by_a_variable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path / "elsewhere", "2.12")
    monkeypatch.setenv(parts.TOXIPROXY_VARIABLE, str(path / "elsewhere"))
    assert parts.find_proxy().path == str(path / "elsewhere")


def test_a_program_that_cannot_run_is_one_sentence(path: Path) -> None:
    program(path / "mongod", "no", status=3)
    with pytest.raises(StackError, match=r"mongod at .*/mongod cannot be run .*remove it from PATH"):
        parts.find_mongo()


def test_a_missing_package_is_one_sentence_that_says_what_to_do(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    for find, component in ((parts.find_mongo, "mongo"), (parts.find_redis, "redis")):
        with pytest.raises(
            StackError, match=rf"nothing to run as {component}: .*pip install feedstorm\[embedded\]"
        ):
            find()


def test_a_broker_that_is_named_but_missing_is_one_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALF_TANSU_BIN", "/nowhere/tansu")
    with pytest.raises(StackError, match="nothing to run as kafka"):
        parts.find_kafka()
    assert shutil.which("tansu") is None
