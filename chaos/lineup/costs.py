"""What a post and a feed read cost, in operations that reach Redis and Mongo. Counted at the stores.

It is measured in a quiet moment after the load of a drill: some posts and some reads are made through
the API, and the stores say how many operations they have done meanwhile. What the stack does by itself
(sweepers, elections) is measured first, and taken off.
"""

import json
import random
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from pymongo import MongoClient
from redis import Redis

from compose.stack import Stack, worker_metrics
from results.audit.quiet import wait_quiet
from results.history import write_atomically

COSTS: Final = "costs.json"
_READS, _POSTS, _CELEBRITY_POSTS = 40, 12, 4
_IDLE_S: Final = 2.0
_TIMEOUT_S: Final = 5.0
_QUIET_WITHIN_S: Final = 15.0
_NOT_WORK: Final = ("info", "hello", "client", "ping", "auth", "select", "command", "config")
_MONGO_WORK: Final = ("insert", "query", "update", "delete", "getmore")


class Costs(msgspec.Struct):
    """Operations for one thing done, Redis and Mongo together; commands inside scripts count."""

    per_read: float
    per_post: float
    per_celebrity_post: float
    followers: float
    """Median followers of the authors of the normal posts."""
    celebrity_followers: int


class Counters:
    """How many operations the stores have done until now."""

    def __init__(self, stack: Stack) -> None:
        endpoints = stack.endpoints
        self.mongo: MongoClient[dict[str, Any]] = MongoClient(
            endpoints.mongo_uri, serverSelectionTimeoutMS=3000, socketTimeoutMS=5000
        )
        self.database = self.mongo[endpoints.mongo_database]
        self._redis = Redis.from_url(endpoints.redis_url, socket_timeout=_TIMEOUT_S)

    def read(self) -> int:
        stats: dict[str, Any] = self._redis.info("commandstats")
        redis = sum(
            stat["calls"]
            for name, stat in stats.items()
            if not name.removeprefix("cmdstat_").startswith(_NOT_WORK)
        )
        opcounters = self.mongo.admin.command("serverStatus")["opcounters"]
        return int(redis) + sum(int(opcounters.get(name, 0)) for name in _MONGO_WORK)

    def close(self) -> None:
        self.mongo.close()
        self._redis.close()


def measure_into(stack: Stack, directory: Path, seed: int) -> None:
    """Measure and write `costs.json`. Blocking; raises whatever the stores or the API raise."""
    counters = Counters(stack)
    try:
        write_atomically(directory / COSTS, msgspec.json.encode(_measure(stack, counters, seed)))
    finally:
        counters.close()


def read(directory: Path) -> Costs | None:
    try:
        return msgspec.json.decode((directory / COSTS).read_bytes(), type=Costs)
    except (OSError, msgspec.DecodeError):
        return None


def _measure(stack: Stack, counters: Counters, seed: int) -> Costs:
    metrics = worker_metrics(stack.members)
    api, rng = stack.endpoints.api[0], random.Random(f"{seed}/costs")
    normal, celebrities = _authors(counters)
    authors = rng.sample(normal, min(_POSTS, len(normal)))
    readers = [user["_id"] for user in rng.sample(normal, min(_READS, len(normal)))]
    for reader in readers:  # cold feeds are built once; that is not what a read costs
        _call("GET", f"{api}/feed", reader)
    wait_quiet(metrics, within_s=_QUIET_WITHIN_S)
    idle = _idle_rate(counters)
    per_read = _cost(counters, idle, readers, lambda user: _call("GET", f"{api}/feed", user))

    def post(user: str) -> None:
        _call("POST", f"{api}/posts", user, {"text": "What does this cost?"})

    def settle() -> None:
        wait_quiet(metrics, within_s=_QUIET_WITHIN_S)

    ids = [user["_id"] for user in authors]
    famous = [user["_id"] for user in celebrities[:1]] * _CELEBRITY_POSTS
    return Costs(
        per_read=per_read,
        per_post=_cost(counters, idle, ids, post, settle),
        per_celebrity_post=_cost(counters, idle, famous, post, settle),
        followers=_median([float(user["followerCount"]) for user in authors]),
        celebrity_followers=max((int(user["followerCount"]) for user in celebrities), default=0),
    )


def _authors(counters: Counters) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Everybody with followers: (normal authors, the most followed one)."""
    users = counters.database["users"].find({"followerCount": {"$gt": 0}}, {"followerCount": 1})
    ranked = sorted(users, key=lambda user: (-user["followerCount"], user["_id"]))
    return ranked[1:], ranked[:1]


def _idle_rate(counters: Counters) -> float:
    """Operations a second that the stack does by itself, and that looking costs."""
    before, began = counters.read(), time.monotonic()
    time.sleep(_IDLE_S)
    return (counters.read() - before) / (time.monotonic() - began)


def _cost(
    counters: Counters,
    idle: float,
    users: Sequence[str],
    do: Callable[[str], object],
    settle: Callable[[], object] = lambda: None,
) -> float:
    """Operations for each user's deed, until the stack has done all that follows from it."""
    if not users:
        return 0.0
    before, began = counters.read(), time.monotonic()
    for user in users:
        do(user)
    settle()
    done = counters.read() - before - idle * (time.monotonic() - began)
    return max(0.0, done / len(users))


def _call(method: str, url: str, user: str, body: object = None) -> None:
    data = json.dumps(body).encode() if body is not None else None
    headers = {"X-User-Id": user, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        answer.read()


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0
