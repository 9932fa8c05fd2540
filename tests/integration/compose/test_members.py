"""What drivers see of the replica set: roles, refusals, elections - with real signals on real processes."""

import socket
import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGTERM
from typing import Any

import bson
import pytest
from bson import Binary, Int64, ObjectId
from pymongo import AsyncMongoClient, CursorType, MongoClient, ReadPreference, WriteConcern
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError

from chaos.drivers import commands
from compose.embedded.mongo import wire
from compose.embedded.mongo.client import ask_once, split_address
from tests.integration.compose.servers import Client, MakesReplicaSets, ReplicaSet, Server, replica_set

ELECTION_S = 2.0
Reply = dict[str, Any]


@pytest.fixture(scope="module")
def shared(members_of: MakesReplicaSets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    with members_of(tmp_path_factory.mktemp("rs"), election_s=ELECTION_S) as made:
        yield made


@pytest.fixture
def rs(shared: ReplicaSet) -> Iterator[ReplicaSet]:
    """The replica set, whole; what a test breaks is repaired after it."""
    yield shared
    shared.repair()


@pytest.fixture
def mongo(rs: ReplicaSet) -> Iterator[Client]:
    with MongoClient[Reply](
        rs.uri, serverSelectionTimeoutMS=30000, socketTimeoutMS=20000, heartbeatFrequencyMS=500
    ) as client:
        yield client


def ask(member: Server, **command: Any) -> Reply:
    return ask_once(member.address, command, within_s=2.0)


def terms(rs: ReplicaSet) -> int:
    return int(ask(rs.await_primary(), replSetGetStatus=1)["term"])


# -- what members say ------------------------------------------------------------------------------------


def test_a_driver_discovers_one_primary_and_two_secondaries(rs: ReplicaSet, mongo: Client) -> None:
    mongo.test.things.insert_one({})
    addresses = {split_address(member.address) for member in rs.members}
    deadline = time.monotonic() + 5
    while len(mongo.secondaries) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert {mongo.primary, *mongo.secondaries} == addresses
    assert mongo.primary not in mongo.secondaries


def test_hello_tells_names_and_roles(rs: ReplicaSet) -> None:
    primary = rs.await_primary()
    for member in rs.members:
        hello = rs.hello(member)
        assert hello["me"] == member.address
        assert hello["hosts"] == [m.address for m in rs.members]
        assert hello["primary"] == primary.address
        assert hello["isWritablePrimary"] is (member is primary)
        assert hello["secondary"] is (member is not primary)
        assert ("electionId" in hello) is (member is primary)
        assert isinstance(hello["topologyVersion"]["counter"], Int64)
        assert "compression" not in hello
        assert "helloOk" not in hello
    assert ask(primary, hello=1, helloOk=True)["helloOk"] is True


def test_a_legacy_handshake_gets_a_legacy_reply(rs: ReplicaSet) -> None:
    raw = bson.encode({"isMaster": 1, "helloOk": True})
    query = struct.pack("<i", 0) + b"admin.$cmd\0" + struct.pack("<ii", 0, -1) + raw
    frame = wire.HEADER.pack(16 + len(query), 7, 0, wire.OP_QUERY) + query
    (reply,) = exchange(rs.await_primary(), frame)
    _, _, response_to, opcode = wire.HEADER.unpack_from(reply)
    assert (response_to, opcode) == (7, wire.OP_REPLY)
    document = bson.decode(reply[36:])
    assert document["ismaster"] is True
    assert document["helloOk"] is True


def exchange(member: Server, *frames: bytes, replies: int = 1, within_s: float = 5.0) -> list[bytes]:
    """Send frames over one connection and read so many replies."""
    with socket.create_connection(split_address(member.address), timeout=within_s) as connection:
        connection.sendall(b"".join(frames))
        got: list[bytes] = []
        stream = wire.Frames()
        while len(got) < replies:
            data = connection.recv(65536)
            assert data, "the member closed the connection"
            got += stream.feed(data)
        return got


def test_what_is_not_the_protocol_closes_the_connection(rs: ReplicaSet) -> None:
    with socket.create_connection(split_address(rs.members[0].address), timeout=5) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with suppress(ConnectionResetError):
            while connection.recv(100):  # mongod says what it is, ours says nothing
                pass
    assert rs.hello(rs.members[0])


def test_an_unreadable_message_is_an_error_or_the_end(rs: ReplicaSet) -> None:
    frame = wire.HEADER.pack(21, 1, 0, wire.OP_MSG) + b"\0" * 5
    with socket.create_connection(split_address(rs.members[0].address), timeout=5) as connection:
        connection.sendall(frame)
        said = b""
        with suppress(ConnectionResetError):
            said = connection.recv(65536)  # mongod answers, ours hangs up
    assert not said or wire.body(said)["ok"] == 0
    assert rs.hello(rs.members[0])


# -- what a member refuses -------------------------------------------------------------------------------


def test_a_secondary_refuses_writes_so_that_drivers_retry_them(rs: ReplicaSet) -> None:
    secondary = rs.secondaries()[0]
    write = {"insert": "things", "documents": [{}]}
    session = {"lsid": {"id": Binary.from_uuid(uuid.uuid4())}}
    plain = ask(secondary, **write)
    assert (plain["code"], plain["codeName"]) == (10107, "NotWritablePrimary")
    assert plain["topologyVersion"] == rs.hello(secondary)["topologyVersion"]
    assert "errorLabels" not in plain
    assert ask(secondary, **write, **session, txnNumber=Int64(1))["errorLabels"] == ["RetryableWriteError"]
    transaction = {**session, "txnNumber": Int64(2), "autocommit": False}
    in_transaction = ask(secondary, **write, **transaction, startTransaction=True)
    assert in_transaction["errorLabels"] == ["TransientTransactionError"]
    commit = ask(secondary, commitTransaction=1, **transaction)
    assert commit["errorLabels"] == ["RetryableWriteError"]


def test_a_secondary_reads_only_with_a_read_preference(rs: ReplicaSet) -> None:
    secondary = rs.secondaries()[0]
    refused = ask(secondary, find="things")
    assert (refused["code"], refused["codeName"]) == (13435, "NotPrimaryNoSecondaryOk")
    allowed = ask(secondary, find="things", **{"$readPreference": {"mode": "secondaryPreferred"}})
    assert allowed["ok"] == 1.0


@pytest.mark.parametrize("command", ["drop", "createIndexes", "someFutureCommand"])
def test_a_secondary_refuses_what_it_does_not_know_to_be_a_read(rs: ReplicaSet, command: str) -> None:
    preference = {"$readPreference": {"mode": "secondaryPreferred"}}
    indexes = {"indexes": [{"key": {"x": 1}, "name": "x"}]} if command == "createIndexes" else {}
    refused = ask(rs.secondaries()[0], **{command: "things"}, **indexes, **preference)
    # ours cannot tell a command that does not exist from one that it does not know
    assert refused["code"] in ((10107, 59) if command == "someFutureCommand" else (10107,))


def test_an_unacknowledged_write_to_a_secondary_ends_the_connection(rs: ReplicaSet) -> None:
    """There is no other way to tell its sender."""
    write = {"insert": "things", "documents": [{}], "writeConcern": {"w": 0}, "$db": "test"}
    with socket.create_connection(split_address(rs.secondaries()[0].address), timeout=5) as connection:
        connection.sendall(wire.message(write, 1, flag_bits=wire.Flag.MORE_TO_COME))
        assert connection.recv(100) == b""


# -- awaitable hello -------------------------------------------------------------------------------------


def awaitable_hello(rs: ReplicaSet, member: Server, wait_ms: int, *, streaming: bool = False) -> bytes:
    version = rs.hello(member)["topologyVersion"]
    hello = {"hello": 1, "topologyVersion": version, "maxAwaitTimeMS": wait_ms, "$db": "admin"}
    return wire.message(hello, 5, flag_bits=wire.Flag.EXHAUST_ALLOWED if streaming else 0)


def test_an_awaitable_hello_is_held_until_its_time_is_up(rs: ReplicaSet) -> None:
    member = rs.members[0]
    frame, begun = awaitable_hello(rs, member, 400), time.monotonic()
    exchange(member, frame)
    assert 0.35 < time.monotonic() - begun < 1.5


def test_an_outdated_client_is_answered_at_once(rs: ReplicaSet) -> None:
    hello = {"hello": 1, "topologyVersion": {"processId": ObjectId(), "counter": Int64(0)}}
    begun = time.monotonic()
    exchange(rs.members[0], wire.message({**hello, "maxAwaitTimeMS": 5000, "$db": "admin"}, 1))
    assert time.monotonic() - begun < 1.0


def test_a_streaming_hello_is_pushed_when_the_primary_changes(rs: ReplicaSet) -> None:
    secondary, primary = rs.secondaries()[0], rs.await_primary()
    frame = awaitable_hello(rs, secondary, 10_000, streaming=True)
    with socket.create_connection(split_address(secondary.address), timeout=5) as connection:
        connection.sendall(frame)
        commands.step_down(primary.address, 3)
        begun, stream = time.monotonic(), wire.Frames()
        got: list[bytes] = []
        while not got or wire.body(got[-1]).get("primary") in (None, primary.address):
            got += stream.feed(connection.recv(65536))
            assert time.monotonic() - begun < 3
    assert wire.HEADER.unpack_from(got[0])[2] == 5
    assert all(wire.Flag.MORE_TO_COME in wire.flags(frame) for frame in got)
    for before, after in pairwise(got):  # each answers the one before
        assert wire.HEADER.unpack_from(after)[2] == wire.request_id(before)


# -- elections -------------------------------------------------------------------------------------------


def test_a_killed_primary_is_replaced_after_the_election_timeout_and_rejoins(rs: ReplicaSet) -> None:
    old, term = rs.await_whole(), terms(rs)
    election_id = rs.hello(old)["electionId"]
    old.kill()
    begun = time.monotonic()
    new = rs.await_primary()
    assert ELECTION_S * 0.6 < time.monotonic() - begun < ELECTION_S + 1.5
    assert terms(rs) > term
    assert rs.hello(new)["electionId"] > election_id
    old.start()
    assert rs.await_whole() is new
    assert rs.hello(old)["secondary"] is True


def test_a_member_that_is_asked_to_end_hands_over_at_once(rs: ReplicaSet, mongo: Client) -> None:
    mongo.test.things.insert_one({})
    old = rs.await_whole()
    begun = time.monotonic()
    old.send(SIGTERM)
    mongo.test.things.insert_one({})
    assert time.monotonic() - begun < ELECTION_S
    old.kill(SIGTERM)  # mongod stays for a while, for clients that have to find the new primary


def test_a_step_down_costs_clients_nothing_but_a_moment(rs: ReplicaSet, mongo: Client) -> None:
    mongo.test.things.insert_one({})
    old = rs.await_whole()
    commands.step_down(old.address, 3)
    begun = time.monotonic()
    mongo.test.things.insert_one({})
    assert time.monotonic() - begun < ELECTION_S
    assert rs.await_primary() is not old


def test_a_step_down_needs_time_for_the_others_to_catch_up(rs: ReplicaSet) -> None:
    primary = rs.await_whole()
    assert ask(primary, replSetStepDown=1)["codeName"] == "BadValue"  # it would wait for 10 s
    assert ask(rs.secondaries()[0], replSetStepDown=1, secondaryCatchUpPeriodSecs=1)["code"] == 10107


def test_a_step_down_needs_somebody_to_take_over(tmp_path: Path) -> None:
    """Ours alone: the primary among real members does not know who is frozen."""
    with replica_set(tmp_path, election_s=ELECTION_S) as rs:
        primary = rs.await_whole()
        for secondary in rs.secondaries():
            ask(secondary, replSetFreeze=2)
        time.sleep(ELECTION_S / 2)  # until their heartbeats have said so
        refused = ask(primary, replSetStepDown=1, secondaryCatchUpPeriodSecs=1)
        assert (refused["code"], refused["codeName"]) == (262, "ExceededTimeLimit")


def test_a_frozen_primary_is_replaced_and_refuses_writes_when_it_thaws(rs: ReplicaSet) -> None:
    old = rs.await_whole()
    old.send(SIGSTOP)
    new = rs.await_primary()
    assert new is not old
    old.send(SIGCONT)
    assert ask(old, insert="things", documents=[{}])["code"] == 10107
    assert rs.await_whole() is new


def test_without_a_majority_there_is_no_primary_but_reads_go_on(rs: ReplicaSet, mongo: Client) -> None:
    mongo.test.things.replace_one({"_id": "kept"}, {}, upsert=True)
    survivor, *others = rs.members
    for member in others:
        member.kill()
    deadline = time.monotonic() + 10
    while rs.hello(survivor).get("isWritablePrimary") or _seen_up(survivor) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with MongoClient[Reply](rs.uri, serverSelectionTimeoutMS=1500) as client:
        reads = client.test.things.with_options(read_preference=ReadPreference.SECONDARY_PREFERRED)
        assert reads.find_one({"_id": "kept"})
        with pytest.raises(ServerSelectionTimeoutError):
            client.test.things.insert_one({})
    assert rs.primary() is None


def _seen_up(member: Server) -> int:
    """How many members it takes for alive: a dead one until its last heartbeat is too old."""
    status = ask_once(member.address, {"replSetGetStatus": 1}, within_s=2.0)
    return sum(other["health"] == 1 for other in status["members"])


def test_a_write_in_a_transaction_of_a_dead_primary_is_not_applied(rs: ReplicaSet, mongo: Client) -> None:
    mongo.test.things.delete_many({})
    with mongo.start_session() as session:
        session.start_transaction()
        mongo.test.things.insert_one({"_id": "lost"}, session=session)
        rs.await_primary().kill()
        rs.await_primary()
        with pytest.raises(OperationFailure) as failure:
            mongo.test.things.insert_one({"_id": "more"}, session=session)
        assert failure.value.has_error_label("TransientTransactionError")
        session.abort_transaction()
    assert mongo.test.things.find_one({"_id": "lost"}) is None


def test_without_its_store_no_member_claims_a_role(tmp_path: Path) -> None:
    with replica_set(tmp_path, election_s=ELECTION_S) as rs, MongoClient[Reply](rs.uri) as client:
        client.test.things.insert_one({"_id": 1})
        rs.store.kill()
        deadline = time.monotonic() + 5
        while rs.primary() or rs.secondaries():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        rs.store.start()
        rs.await_whole()
        assert client.test.things.find_one({"_id": 1})


def test_the_first_election_does_not_wait_for_the_timeout(tmp_path: Path) -> None:
    with replica_set(tmp_path, election_s=60) as rs:  # enters only once there is a primary
        assert rs.primary()


# -- what passes through ---------------------------------------------------------------------------------


def test_cursors_sessions_and_transactions_pass_through(rs: ReplicaSet, mongo: Client) -> None:
    numbers = mongo.test.numbers
    numbers.drop()
    numbers.insert_many([{"_id": n} for n in range(1000)])
    assert [d["_id"] for d in numbers.find(batch_size=100).sort("_id")] == list(range(1000))
    assert len(list(numbers.find(cursor_type=CursorType.EXHAUST, batch_size=100))) == 1000
    (total,) = numbers.aggregate([{"$group": {"_id": None, "n": {"$sum": 1}}}])
    assert total["n"] == 1000
    with mongo.start_session(causal_consistency=True) as session, session.start_transaction():
        numbers.insert_one({"_id": -1}, session=session)
        assert numbers.find_one({"_id": -1}) is None
    assert numbers.find_one({"_id": -1})
    unacknowledged = numbers.with_options(write_concern=WriteConcern(w=0))
    for n in range(2000, 2020):
        unacknowledged.insert_one({"_id": n})
    deadline = time.monotonic() + 5
    while numbers.count_documents({"_id": {"$gte": 2000}}) < 20:
        assert time.monotonic() < deadline
    for w in (1, 2, 3, "majority"):
        numbers.with_options(write_concern=WriteConcern(w=w)).update_one({"_id": 1}, {"$set": {"w": w}})


def test_large_documents_pass_through(rs: ReplicaSet, mongo: Client) -> None:
    mongo.test.large.drop()
    mongo.test.large.insert_many([{"_id": n, "x": "x" * 3_000_000} for n in range(5)])
    assert sum(len(d["x"]) for d in mongo.test.large.find()) == 15_000_000


async def test_the_asynchronous_driver_works_too(rs: ReplicaSet) -> None:
    async with AsyncMongoClient[Reply](rs.uri, serverSelectionTimeoutMS=8000) as client:
        await client.test.things.replace_one({"_id": "async"}, {"x": 1}, upsert=True)
        found = await client.test.things.find_one({"_id": "async"})
        assert found == {"_id": "async", "x": 1}
