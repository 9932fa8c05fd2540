"""The mapping file says the same as the labels, and its mistakes are named."""

from pathlib import Path

import pytest

from compose.docker.mapping import Mapping, Part, load
from compose.stack import Component, StackError


def test_no_file_maps_nothing() -> None:
    assert load(None) == Mapping()


def test_a_file_gives_parts_a_database_and_endpoints(tmp_path: Path) -> None:
    file = tmp_path / "mapping.yml"
    file.write_text(
        "services:\n"
        "  db-a: {component: mongo, port: 27017}\n"
        "  jobs: {component: worker, kind: fanout}\n"
        "mongo_database: shop\n"
        "endpoints: {redis_url: redis://127.0.0.1:6379/0}\n"
    )
    mapping = load(file)
    assert mapping.part("db-a", {}) == Part(Component.MONGO, 27017)
    assert mapping.part("jobs", {}) == Part(Component.WORKER, None, "fanout")
    assert mapping.part("mail", {}) is None
    assert (mapping.mongo_database, mapping.endpoints.redis_url) == ("shop", "redis://127.0.0.1:6379/0")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("services: {db: {component: mango}}", r"mango.*services"),
        ("services: {db: {component: mongo, prot: 1}}", "prot"),
        ("servces: {}", "servces"),
        ("services: [", "wrong"),
        ("services: {db: {component: mongo, port: many}}", r"int.*port|port"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_file_and_place(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "mapping.yml"
    file.write_text(text)
    with pytest.raises(StackError, match=named) as caught:
        load(file)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"none\.yml cannot be read: No such file"):
        load(tmp_path / "none.yml")
