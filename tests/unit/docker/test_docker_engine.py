"""An engine that cannot be used is one plain sentence that says what to do."""

import gc
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import docker.errors
import pytest

from compose.docker import engine
from compose.stack import StackError

# The SDK leaves the socket of a connection that failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:.*<socket:pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def leave_no_socket_to_the_next_test() -> Iterator[None]:
    yield
    gc.collect()


def test_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(
        StackError, match=r"No Docker engine can be used: nothing answers at unix://.*none\.sock"
    ):
        engine.connect()


def test_an_engine_that_ended_and_left_its_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/left.sock")
    with pytest.raises(StackError, match="nothing answers"):
        engine.connect()


def test_an_engine_that_is_not_there_leaves_no_socket_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with suppress(StackError):
            engine.connect()
        gc.collect()
    assert caught == []


def test_no_permission() -> None:
    denied = docker.errors.DockerException("Error ...: PermissionError(13, 'Permission denied')")
    with (
        pytest.raises(StackError, match="no permission to use it; add yourself"),
        engine.plainly("No engine"),
    ):
        raise denied


def test_an_engine_that_hangs_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "rude.sock"))
        server.listen()

        def hang_up() -> None:
            for _ in range(2):  # on whoever looks whether somebody is there, and on whoever asks
                server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/rude.sock")
        with pytest.raises(StackError, match="the Docker engine went away"):
            engine.connect()


@pytest.mark.parametrize(
    "where", ["tcp://10.1.2.3:2375", "ssh://me:secret@build.example", "https://dock.example:1"]
)
def test_another_machine_is_left_alone_unless_it_was_allowed(where: str) -> None:
    host = where.partition("://")[2].rpartition("@")[2].partition(":")[0]
    with pytest.raises(StackError, match=f"--allow-host {host}") as caught:
        engine.refuse_strangers(where, ())
    assert "secret" not in str(caught.value)
    engine.refuse_strangers(where, (host,))


@pytest.mark.parametrize(
    "where",
    ["unix:///var/run/docker.sock", "npipe:////./pipe/docker", "tcp://127.0.0.1:2375", "tcp://localhost:1"],
)
def test_this_machine_needs_no_leave(where: str) -> None:
    engine.refuse_strangers(where, ())


def test_the_address_comes_from_the_environment_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    assert engine.address() == "tcp://127.0.0.1:1"


def test_a_password_in_the_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://me:secret@127.0.0.1:1")
    with pytest.raises(StackError) as caught, engine.plainly("No engine"):
        raise docker.errors.DockerException("ConnectionRefusedError(111)")
    assert "secret" not in str(caught.value)
