"""No acknowledged write is lost or doubled, and reads go on, while members die, freeze and step down."""

import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Any

import pytest
from pymongo import MongoClient, ReadPreference
from pymongo.errors import PyMongoError

from chaos.drivers import commands
from chaos.errors import CannotInjectError
from tests.integration.compose.servers import MakesReplicaSets, ReplicaSet

ELECTION_S = 1.5
WRITERS = 3


@dataclass
class Load:
    """Writers that insert and count, and a reader. What they were told is kept, to be compared afterwards."""

    uri: str
    acknowledged: set[str] = field(default_factory=set)
    gaps_s: list[float] = field(default_factory=list)
    counted: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(WRITERS), 0))
    unclear: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(WRITERS), 0))
    reads: int = 0
    read_errors: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        with self._client() as client:
            client.test.counters.insert_many([{"_id": writer, "n": 0} for writer in range(WRITERS)])
        self._threads = [threading.Thread(target=self._write, args=(writer,)) for writer in range(WRITERS)]
        self._threads.append(threading.Thread(target=self._read))
        for thread in self._threads:
            thread.start()

    def await_more(self, count: int = 60, within_s: float = 60) -> None:
        """Wait for so many more acknowledged writes."""
        wanted, deadline = len(self.acknowledged) + count, time.monotonic() + within_s
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline, "writes do not get through any more"
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """Acknowledged inserts are there; counters have what was acknowledged, and perhaps of the unclear."""
        with self._client() as client:
            found = {document["_id"] for document in client.test.writes.find({}, {"_id": 1})}
            counters = {document["_id"]: document["n"] for document in client.test.counters.find()}
        assert self.acknowledged - found == set()
        for writer, value in counters.items():
            sure = self.counted[writer]
            assert sure <= value <= sure + self.unclear[writer]
        assert self.reads > 10
        assert self.read_errors == []

    def _client(self, **options: Any) -> MongoClient[dict[str, Any]]:
        times = {"serverSelectionTimeoutMS": 8000, "socketTimeoutMS": 2000, "heartbeatFrequencyMS": 500}
        return MongoClient(self.uri, w="majority", **times, **options)  # type: ignore[arg-type]

    def _write(self, writer: int) -> None:
        last = time.monotonic()
        with self._client() as client:
            for number in range(1_000_000):
                if self._stop.wait(0.005):
                    return
                key = f"{writer}-{number}"
                try:
                    client.test.writes.insert_one({"_id": key})
                    self.acknowledged.add(key)
                    now = time.monotonic()
                    self.gaps_s.append(now - last)
                    last = now
                except PyMongoError:
                    pass
                try:
                    client.test.counters.update_one({"_id": writer}, {"$inc": {"n": 1}})
                    self.counted[writer] += 1
                except PyMongoError:
                    self.unclear[writer] += 1

    def _read(self) -> None:
        with self._client(readPreference="secondaryPreferred") as client:
            counters = client.test.counters.with_options(read_preference=ReadPreference.SECONDARY_PREFERRED)
            while not self._stop.wait(0.01):
                try:
                    counters.find_one({"_id": 0})
                    self.reads += 1
                except PyMongoError as error:
                    self.read_errors.append(repr(error))


def disturb(rs: ReplicaSet, kind: str, rng: random.Random) -> None:
    """Do something bad to a member, mostly to the primary, and undo it."""
    primary = rs.primary()
    victim = primary if primary and rng.random() < 0.8 else rng.choice(rs.members)
    if kind == "step down":
        with suppress(CannotInjectError):  # nobody may have caught up yet
            commands.step_down(rs.await_primary().address, 3)
    elif kind == "freeze":
        victim.send(SIGSTOP)
        time.sleep(rng.uniform(1, 2.5))
        victim.send(SIGCONT)
    else:
        victim.kill(SIGKILL if kind == "kill" else SIGTERM)
        time.sleep(rng.uniform(0.2, 2.5))
        victim.start()
    rs.await_whole()


def test_a_kill_a_step_down_and_a_freeze_lose_nothing(members_of: MakesReplicaSets, tmp_path: Path) -> None:
    with members_of(tmp_path, election_s=ELECTION_S) as rs:
        load = Load(rs.uri)
        load.start()
        try:
            for kind in ("kill", "step down", "freeze"):
                load.await_more()
                disturb(rs, kind, random.Random(1))
            load.await_more()
        finally:
            load.stop()
        load.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_minute_of_random_disturbances(members_of: MakesReplicaSets, tmp_path: Path, seed: int) -> None:
    rng, until = random.Random(seed), time.monotonic() + 60
    with members_of(tmp_path, election_s=ELECTION_S) as rs:
        load = Load(rs.uri)
        load.start()
        try:
            while time.monotonic() < until:
                load.await_more()
                disturb(rs, rng.choice(["kill", "end", "step down", "freeze"]), rng)
        finally:
            load.stop()
        load.check()
        election_id = rs.hello(rs.await_whole())["electionId"]
        for member in rs.members:
            member.kill()
        for member in rs.members:
            member.start()
        assert rs.hello(rs.await_whole())["electionId"] > election_id  # terms survive a full restart
        load.check()
