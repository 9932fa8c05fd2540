"""One test per repair: the stock store shows the defect, the repaired one does not."""

import random
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bson import Binary, Int64
from pymongo.errors import PyMongoError

from compose.embedded.mongo.client import ask_once
from tests.integration.compose.servers import Client, Server, client, store, with_secantus

Stores = dict[str, Client]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Clients of a stock and of a repaired store."""
    directory = tmp_path_factory.mktemp("stores")
    with (
        store(directory / "stock", stock=True) as stock_server,
        store(directory / "repaired") as repaired_server,
        client(stock_server) as stock,
        client(repaired_server) as repaired,
    ):
        yield {"stock": stock, "repaired": repaired}


def test_repeats_are_found_cheaply() -> None:
    code = """
from secantus.transactions import TransactionRegistry
import secantus.transactions as t
registry = TransactionRegistry.__new__(TransactionRegistry)
registry._time = time.monotonic
registry._retryable = {(b"s", n): ({}, time.monotonic(), b"") for n in range(t._RETRYABLE_RECORD_MAX)}
begun = time.perf_counter()
for n in range(100):
    registry._retryable[b"new", n] = ({}, time.monotonic(), b"")
    registry._prune_retryable_locked()
print(json.dumps([(time.perf_counter() - begun) / 100, len(registry._retryable)]))
"""
    stock_s, _ = with_secantus(code, repaired=False)
    repaired_s, remembered = with_secantus(code, repaired=True)
    assert stock_s > 0.0005
    assert repaired_s < stock_s / 20
    assert remembered == 10_000


def test_repeats_are_known_despite_less_time(stores: Stores) -> None:
    assert _count_after_a_repeat(stores["stock"]) == 2
    assert _count_after_a_repeat(stores["repaired"]) == 1


def _count_after_a_repeat(mongo: Client) -> int:
    """Send one `$inc` twice, as a driver does that has less time left for the second attempt."""
    mongo.test.counters.drop()
    mongo.test.counters.insert_one({"_id": 1, "n": 0})
    session = uuid.uuid4()
    for time_left_ms in (20_000, 10_000):
        _send_increment(mongo, session, maxTimeMS=time_left_ms)
    return _counter(mongo)


def _send_increment(mongo: Client, session: uuid.UUID, **more: int) -> None:
    """The first retryable write of a session, on the wire: a driver would put a session of its own in."""
    assert mongo.address
    update = {"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}
    lsid = {"id": Binary.from_uuid(session)}
    command = {"update": "counters", "updates": [update], "lsid": lsid, "txnNumber": Int64(1), **more}
    reply = ask_once("{}:{}".format(*mongo.address), {**command, "$db": "test"}, within_s=30)
    assert (reply["ok"], reply["n"]) == (1.0, 1)


def _counter(mongo: Client) -> int:
    document = mongo.test.counters.find_one({"_id": 1})
    assert document
    return int(document["n"])


def test_a_repeat_waits_for_its_original(stores: Stores) -> None:
    assert max(_counts_after_overtaking_repeats(stores["stock"])) > 1
    assert set(_counts_after_overtaking_repeats(stores["repaired"])) == {1}


def _counts_after_overtaking_repeats(mongo: Client, rounds: int = 40) -> list[int]:
    """What a `$inc` that several attempts of one write bring at the same moment has added, round by round."""
    counts = []
    for _ in range(rounds):
        mongo.test.counters.drop()
        mongo.test.counters.insert_one({"_id": 1, "n": 0})
        session, together = uuid.uuid4(), threading.Barrier(4)

        def attempt(together: threading.Barrier = together, session: uuid.UUID = session) -> None:
            together.wait()
            _send_increment(mongo, session)

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(attempt) for _ in range(4)]:
                done.result()
        counts.append(_counter(mongo))
    return counts


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    # The stock store is lucky now and then, when its buffer had just been written.
    assert any(_lost_by_a_kill(tmp_path / f"stock{attempt}", stock=True) for attempt in range(3))
    assert _lost_by_a_kill(tmp_path / "repaired", stock=False) == 0


def _lost_by_a_kill(directory: Path, *, stock: bool) -> int:
    """How many acknowledged majority writes are missing after SIGKILL amid writes and a restart."""
    acknowledged: list[int] = []
    with store(directory, stock=stock) as server:
        writer = threading.Thread(target=_write_until_it_fails, args=(server, acknowledged))
        writer.start()
        while len(acknowledged) < 200:
            time.sleep(0.005)
        server.kill()
        writer.join()
        server.start()
        server.await_answer()
        with client(server) as mongo:
            found = {document["_id"] for document in mongo.test.writes.find()}
    return len(set(acknowledged) - found)


def _write_until_it_fails(server: Server, acknowledged: list[int]) -> None:
    with client(server, w="majority", retryWrites=False, serverSelectionTimeoutMS=1000) as mongo:
        for number in range(100_000):
            try:
                mongo.test.writes.insert_one({"_id": number})
            except PyMongoError:
                return
            acknowledged.append(number)


def test_inclusive_bounds_keep_their_documents(stores: Stores) -> None:
    query = {"followee": "c", "at": {"$lte": 6}}
    for mongo in stores.values():
        mongo.test.bounds.drop()
        mongo.test.bounds.insert_many([{"_id": n, "followee": "c", "at": n} for n in range(10)])
        mongo.test.bounds.create_index([("followee", 1), ("at", 1), ("_id", 1)])
    assert sorted(d["_id"] for d in stores["stock"].test.bounds.find(query)) == [0, 1, 2, 3, 4, 5]
    assert sorted(d["_id"] for d in stores["repaired"].test.bounds.find(query)) == [0, 1, 2, 3, 4, 5, 6]
    assert stores["repaired"].test.bounds.delete_many(query).deleted_count == 7


def test_inclusive_bounds_keep_their_documents_on_descending_fields(stores: Stores) -> None:
    query = {"followee": "c", "at": {"$gte": 6}}
    for mongo in stores.values():
        mongo.test.bounds.drop()
        mongo.test.bounds.insert_many([{"_id": n, "followee": "c", "at": n} for n in range(10)])
        mongo.test.bounds.create_index([("followee", 1), ("at", -1), ("_id", -1)])
    assert sorted(d["_id"] for d in stores["stock"].test.bounds.find(query)) == [7, 8, 9]
    assert sorted(d["_id"] for d in stores["repaired"].test.bounds.find(query)) == [6, 7, 8, 9]


@pytest.mark.parametrize("before", [[], [("author", 1)]])
@pytest.mark.parametrize("behind", [[], [("at", 1)]])
def test_ranges_over_descending_strings_keep_their_documents(
    stores: Stores, before: list[tuple[str, int]], behind: list[tuple[str, int]]
) -> None:
    names = ["", "a", "ab", "abc", "b", "ba"]
    lost_by_stock = 0
    for name, mongo in stores.items():
        mongo.test.names.drop()
        mongo.test.names.insert_many([{"author": "x", "name": n, "at": 1} for n in names])
        mongo.test.names.create_index([*before, ("name", -1), *behind])
        for operator, expected in (
            ({"$gt": "a"}, ["ab", "abc", "b", "ba"]),
            ({"$gte": "ab"}, ["ab", "abc", "b", "ba"]),
            ({"$lt": "ab"}, ["", "a"]),
            ({"$lte": "abc"}, ["", "a", "ab", "abc"]),
            ({"$gte": "a", "$lt": "b"}, ["a", "ab", "abc"]),
        ):
            query = {"name": operator, **({"author": "x"} if before else {})}
            found = sorted(document["name"] for document in mongo.test.names.find(query))
            page = sorted(document["name"] for document in mongo.test.names.find(query).limit(10))
            if name == "repaired":
                assert found == page == expected
            else:
                lost_by_stock += found != expected
    assert lost_by_stock > 0


def test_choices_come_in_the_order_asked_for(stores: Stores) -> None:
    for mongo in stores.values():
        mongo.test.choices.drop()
        mongo.test.choices.insert_many([{"_id": n, "k": n % 5} for n in range(10)])
        mongo.test.choices.create_index("k")
    query = {"k": {"$in": [3, 1, 2]}}
    assert [d["k"] for d in stores["stock"].test.choices.find(query).sort("k", 1)] == [3, 3, 1, 1, 2, 2]
    assert [d["k"] for d in stores["repaired"].test.choices.find(query).sort("k", 1)] == [1, 1, 2, 2, 3, 3]
    page = stores["repaired"].test.choices.find(query, {"_id": 0}).sort("k", -1).skip(1).limit(3)
    assert list(page) == [{"k": 3}, {"k": 2}, {"k": 2}]


def test_pages_stop_at_their_limit(stores: Stores) -> None:
    documents = [{"_id": n, "followee": "c", "at": n, "name": "x" * 50} for n in range(3_000)]
    random.Random(1).shuffle(documents)
    took_s = {}
    for name, mongo in stores.items():
        mongo.test.pages.drop()
        mongo.test.pages.create_index([("followee", 1), ("at", 1), ("_id", 1)])
        mongo.test.pages.insert_many(documents)
        begun = time.perf_counter()
        page = list(mongo.test.pages.find({"followee": "c"}).sort([("at", -1), ("_id", -1)]).limit(20))
        took_s[name] = time.perf_counter() - begun
        assert [d["_id"] for d in page] == list(range(2_999, 2_979, -1))
    assert took_s["repaired"] < took_s["stock"] / 5


def test_write_concerns_count_three_members(stores: Stores) -> None:
    for w, refused_by_stock in ((1, False), ("majority", False), (2, True), (3, True)):
        assert _is_refused(stores["stock"], w) is refused_by_stock
        assert not _is_refused(stores["repaired"], w)
    assert _is_refused(stores["repaired"], 4)


def _is_refused(mongo: Client, w: int | str) -> bool:
    reply = mongo.test.command(
        {"insert": "concerns", "documents": [{}], "writeConcern": {"w": w}}, check=False
    )
    return "writeConcernError" in reply


KEYS = [
    ("S", ["collection"]),
    ("SS", ["db", "zwölf"]),
    ("SSS", ["db", "coll", ""]),
    ("SSu", ["db", "coll", [0, 1, 255, 0]]),
    ("SSSu", ["db", "coll", "index", []]),
    ("SSq", ["db", "coll", -12345678901]),
    ("SSq", ["db", "coll", 0]),
    ("q", [7]),
]


def test_keys_are_packed_quickly() -> None:
    code = f"""
import wiredtiger.swig_wiredtiger as api
keys = [(f, [bytes(v) if isinstance(v, list) else v for v in values]) for f, values in {KEYS!r}]
packed = [api.pack(f, *values) for f, values in keys]
unpacked = [list(api.unpack(f, p)) for (f, _), p in zip(keys, packed)]
assert unpacked == [values for _, values in keys], unpacked
begun = time.perf_counter()
for _ in range(3000):
    api.unpack("SSSu", api.pack("SSSu", "feedstorm", "follows", "followee_1_at_1__id_1", b"x" * 60))
print(json.dumps([time.perf_counter() - begun, [p.hex() for p in packed]]))
"""
    stock_s, stock_bytes = with_secantus(code, repaired=False)
    repaired_s, repaired_bytes = with_secantus(code, repaired=True)
    assert repaired_bytes == stock_bytes
    assert repaired_s < stock_s / 2


def test_documents_named_by_id_are_looked_up(stores: Stores) -> None:
    stock_s = _seconds_of_conditional_updates(stores["stock"])
    repaired_s = _seconds_of_conditional_updates(stores["repaired"])
    assert repaired_s < stock_s / 5


def _seconds_of_conditional_updates(mongo: Client) -> float:
    """What twenty changes of one document by its id and its status take in a collection of 3,000."""
    follows = mongo.test.conditional
    follows.drop()
    follows.insert_many([{"_id": n, "status": "active", "n": n % 2} for n in range(3000)])
    begun = time.perf_counter()
    for n in range(20):
        here = {"_id": n, "status": "active"}
        assert follows.find_one_and_update(here, {"$set": {"status": "gone"}}) is not None
        assert follows.find_one_and_update(here, {"$set": {"status": "gone"}}) is None
    took = time.perf_counter() - begun
    assert [d["_id"] for d in follows.find({"_id": {"$in": [3, 4, 21, 22]}, "status": "active"})] == [21, 22]
    assert [d["_id"] for d in follows.find({"_id": 22, "$or": [{"n": 0}, {"n": 5}]})] == [22]
    assert list(follows.find({"_id": 22, "$or": [{"n": 1}, {"n": 5}]})) == []
    assert follows.count_documents({"_id": {"$gt": 2990}, "status": "active"}) == 9
    assert follows.count_documents({"_id": {"$in": [0, 2990]}, "status": "active"}) == 1
    assert follows.delete_one({"_id": 0, "status": "active"}).deleted_count == 0
    return took


def test_index_definitions_are_read_once_a_statement(tmp_path: Path) -> None:
    code = """
import secantus.storage as storage
looks, cursor = [], storage.Storage._cursor
def counted(self, table, *given, **more):
    looks.append(table == storage._IDX_TABLE)
    return cursor(self, table, *given, **more)
opened = storage.Storage(DIRECTORY)
opened.create_index("test", "follows", "by_a", {"a": 1}, {})
storage.Storage._cursor = counted
opened.insert("test", "follows", [{"_id": n, "a": n} for n in range(50)])
print(json.dumps([sum(looks)]))
"""
    (stock,) = with_secantus(code.replace("DIRECTORY", repr(str(tmp_path / "stock"))), repaired=False)
    (repaired,) = with_secantus(code.replace("DIRECTORY", repr(str(tmp_path / "repaired"))), repaired=True)
    assert stock > 4 * 50
    assert repaired < stock / 2  # what is left: one look for each document whether it makes an index multikey


def test_index_definitions_are_up_to_date_in_the_next_statement(stores: Stores) -> None:
    for mongo in stores.values():
        tags = mongo.test.tags
        tags.drop()
        tags.insert_one({"_id": 0, "tag": "plain"})
        tags.create_index("tag")
        tags.insert_many(
            [{"_id": 1, "tag": "plain"}, {"_id": 2, "tag": ["many", "plain"]}, {"_id": 3, "tag": ["many"]}]
        )
        assert sorted(tag["_id"] for tag in tags.find({"tag": "plain"})) == [0, 1, 2]
        assert sorted(tag["_id"] for tag in tags.find({"tag": "many"})) == [2, 3]
        tags.drop_index("tag_1")
        tags.update_many({}, {"$set": {"tag": "none"}})
        assert len(list(tags.find({"tag": "none"}))) == 4


def test_keys_of_plain_documents_are_made_quickly() -> None:
    code = """
import random, datetime
import secantus.storage as storage
dice = random.Random(7)
def value():
    return dice.choice([
        lambda: "x" * dice.randrange(3), lambda: "a\\0b", lambda: dice.randrange(-5, 5),
        lambda: None, lambda: dice.random(), lambda: dice.random() < 0.5,
        lambda: datetime.datetime(2026, 1, 1 + dice.randrange(9)),
        lambda: {"c": 1}, lambda: [1, "x", [2]], lambda: {"c": [1, 2]},
    ])()
specs = [{"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": -1}, {"a.c": 1, "b": 1}]
documents = [{name: value() for name in "ab" if dice.random() < 0.9} for _ in range(2000)]
made = [
    [key.hex() for key in storage._index_key_variants(document, spec, sparse=sparse)]
    + [storage._doc_makes_multikey(document, spec)]
    for document in documents for spec in specs for sparse in (False, True)
]
plain = {"a": "1f8b0f8e-7d0c-4f0e-9d6e-000000000000", "b": datetime.datetime(2026, 1, 1)}
begun = time.perf_counter()
for _ in range(5000):
    storage._index_key_variants(plain, specs[1], sparse=False)
    storage._doc_makes_multikey(plain, specs[1])
print(json.dumps([time.perf_counter() - begun, made]))
"""
    stock_s, stock_keys = with_secantus(code, repaired=False)
    repaired_s, repaired_keys = with_secantus(code, repaired=True)
    assert repaired_keys == stock_keys
    assert repaired_s < stock_s / 1.5
