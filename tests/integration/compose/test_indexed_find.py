"""Pages that the repaired store reads along an index are those that going through every document gives."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.compose.servers import Client, client, store

Document = dict[str, Any]
Query = tuple[Document, list[tuple[str, int]], int, int]

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
INDEXES: list[list[tuple[str, int]]] = [
    [("author", 1), ("score", 1), ("_id", 1)],
    [("author", 1), ("at", -1), ("_id", -1)],
    [("at", 1)],
    [("name", 1), ("score", -1)],
    [("author", 1), ("name", -1)],  # values of which one begins with another, upside down
    [("score", 1), ("at", 1), ("name", 1)],
]
AUTHORS = ["x", "xy", "y", "", "x\0z"]
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "author": st.sampled_from(AUTHORS),
    "score": st.integers(-5, 5) | st.integers(-50, 50).map(lambda tenths: tenths / 10),
    "at": st.integers(0, 60).map(lambda n: EPOCH + timedelta(milliseconds=n)),
    "name": st.text("ab", max_size=3),
}


def documents() -> list[Document]:
    """600 documents with ties, missing fields, and ids of two types."""
    rng = random.Random(7)
    made = []
    for number in range(600):
        document: Document = {"_id": number if number % 3 == 0 else rng.choice([number, f"id{number:04d}"])}
        values = {
            "author": rng.choice(AUTHORS),
            "score": rng.choice([rng.randrange(-5, 6), rng.randrange(-50, 50) / 10]),
            "at": EPOCH + timedelta(milliseconds=rng.randrange(60)),
            "name": "".join(rng.choices("ab", k=rng.randrange(4))),
        }
        document |= {name: value for name, value in values.items() if rng.random() < 0.95}
        made.append(document)
    return made


DOCUMENTS = documents()


def conditions(name: str) -> st.SearchStrategy[Any]:
    value = FIELDS[name]
    operators = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
    return (
        value
        | st.lists(value, min_size=1, max_size=4).map(lambda values: {"$in": values})
        | st.dictionaries(operators, value, min_size=1, max_size=2)
    )


@st.composite
def queries(draw: st.DrawFn) -> Query:
    names = draw(st.lists(st.sampled_from(list(FIELDS)), unique=True, max_size=3))
    filter_: Document = {name: draw(conditions(name)) for name in names}
    if draw(st.integers(0, 6)) == 0:
        filter_["_id"] = draw(
            st.sampled_from([{"$lt": 300}, {"$gte": "id0100", "$lt": "id0400"}, {"$gt": 50}])
        )
    if draw(st.integers(0, 6)) == 0:
        filter_["$or"] = [{"score": {"$lt": 0}}, {"score": 3}]
    ways = st.sampled_from([1, -1])
    sorted_names = draw(st.lists(st.sampled_from(list(FIELDS)), unique=True, max_size=3))
    sort = [(name, draw(ways)) for name in sorted_names]
    if draw(st.integers(0, 4)):
        sort.append(("_id", draw(ways)))
    return filter_, sort, draw(st.sampled_from([0, 0, 3])), draw(st.sampled_from([0, 1, 5, 20, 100]))


def rank(value: Any) -> tuple[Any, ...]:
    """MongoDB's order of what occurs here: missing, numbers, strings, dates."""
    if value is None:
        return (0,)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value) if isinstance(value, str) else (3, value.timestamp())


def fits(value: Any, condition: Any) -> bool:
    if not isinstance(condition, dict):
        return value is not None and rank(value) == rank(condition)
    return all(_fits_operator(value, operator, bound) for operator, bound in condition.items())


def _fits_operator(value: Any, operator: str, bound: Any) -> bool:
    if operator == "$in":
        return any(fits(value, choice) for choice in bound)
    mine, other = rank(value), rank(bound)
    if mine[0] != other[0]:  # a range never leaves its type
        return False
    return bool(
        {"$gt": mine > other, "$gte": mine >= other, "$lt": mine < other, "$lte": mine <= other}[operator]
    )


def matches(document: Document, filter_: Document) -> bool:
    return all(
        any(matches(document, part) for part in condition)
        if name == "$or"
        else fits(document.get(name), condition)
        for name, condition in filter_.items()
    )


def by_brute_force(filter_: Document, sort: list[tuple[str, int]]) -> list[Document]:
    found = [document for document in DOCUMENTS if matches(document, filter_)]
    for name, way in reversed(sort):
        found.sort(key=lambda document: rank(document.get(name)), reverse=way == -1)
    return found


@pytest.fixture(scope="module")
def mongo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with store(tmp_path_factory.mktemp("store")) as server, client(server, tz_aware=True) as connected:
        connected.test.pages.insert_many(DOCUMENTS)
        for keys in INDEXES:
            connected.test.pages.create_index(keys)
        yield connected


@given(query=queries())
@settings(max_examples=200, deadline=None)
def test_a_page_is_what_brute_force_finds(mongo: Client, query: Query) -> None:
    filter_, sort, skip, limit = query
    cursor = mongo.test.pages.find(filter_).skip(skip).limit(limit)
    page = list(cursor.sort(sort) if sort else cursor)
    all_of_them = by_brute_force(filter_, sort)
    expected = all_of_them[skip : skip + limit] if limit else all_of_them[skip:]
    if any(name == "_id" for name, _ in sort):
        assert page == expected
    else:  # ties may come in any order
        keys = [[rank(d.get(name)) for name, _ in sort] for d in page]
        assert keys == [[rank(d.get(name)) for name, _ in sort] for d in expected]
        assert len({d["_id"] for d in page}) == len(page)
        assert all(document in all_of_them for document in page)


def test_an_index_over_arrays_is_not_walked_along(mongo: Client) -> None:
    mongo.test.tagged.insert_many(
        [{"_id": n, "tags": [["b", "a"], ["c"], [], ["a", "z"]][n]} for n in range(4)]
    )
    mongo.test.tagged.create_index([("tags", 1)])
    first = list(mongo.test.tagged.find().sort([("tags", 1), ("_id", 1)]).limit(3))
    assert [document["_id"] for document in first] == [2, 0, 3]


def test_a_page_sees_what_its_own_transaction_has_written(mongo: Client) -> None:
    mongo.test.drafts.create_index([("author", 1), ("at", 1)])
    mongo.test.drafts.insert_one({"author": "a", "at": 1})
    page = {"filter": {"author": "a"}, "sort": [("at", 1)], "limit": 5}
    with mongo.start_session() as session, session.start_transaction():
        mongo.test.drafts.insert_one({"author": "a", "at": 2}, session=session)
        assert [d["at"] for d in mongo.test.drafts.find(**page, session=session)] == [1, 2]
        assert [d["at"] for d in mongo.test.drafts.find(**page)] == [1]
        session.abort_transaction()
    assert [d["at"] for d in mongo.test.drafts.find(**page)] == [1]
