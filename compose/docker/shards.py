"""Making the sharded cluster of profile `sharded`: what is sharded by which key, and the steps.

python -m compose.docker.shards config      initiates the config server, which the router waits for
python -m compose.docker.shards shards      initiates and adds the shards, and shards the collections
"""

import asyncio
import os
import sys
from collections.abc import Mapping

from pymongo.errors import PyMongoError

from compose.docker import replica_set
from compose.docker.replica_set import Document
from compose.waiting import NeverHappenedError

CONFIG, SHARDS, ROUTER = "config1:27017", {"shard1": "shard1:27017", "shard2": "shard2:27017"}, "mongos:27020"

SHARD_KEYS = {"follows": "followerId", "likes": "postId", "comments": "postId"}
"""The collections that grow without bound, and the field whose hash says where a document lives.

Whoever is followed by many must not put all those rows on one shard, so `follows` goes by the
follower: a user's followings are on one shard, a celebrity's followers on all. Likes and comments
are always asked for by post. The rest is small or read by `_id`, and stays unsharded.
"""


def is_targeted(collection: str, query: Mapping[str, object]) -> bool:
    """Whether a router sends this query to one shard only: the shard key must be given by value.

    (`$in` with one value, or `$eq`, are given by value too; a range over a hashed key is not.)
    """
    if collection not in SHARD_KEYS:
        return True
    wanted = query.get(SHARD_KEYS[collection])
    if isinstance(wanted, Mapping):
        values = wanted.get("$in")
        return "$eq" in wanted or (isinstance(values, list | tuple) and len(values) == 1)
    return wanted is not None


def plan(database: str) -> list[Document]:
    """The commands for the router, in order. Each of them may be repeated."""
    commands: list[Document] = [{"addShard": f"{name}/{host}", "name": name} for name, host in SHARDS.items()]
    commands.append({"enableSharding": database})
    commands += [
        {"shardCollection": f"{database}.{collection}", "key": {field: "hashed"}}
        for collection, field in SHARD_KEYS.items()
    ]
    return commands


async def make_config() -> None:
    await replica_set.make(CONFIG, replica_set.config("config", [CONFIG], configsvr=True))


async def make_shards(database: str) -> None:
    for name, host in SHARDS.items():
        await replica_set.make(host, replica_set.config(name, [host]))
    with replica_set.direct(ROUTER) as router:
        for command in plan(database):
            router.admin.command(command)


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["config"]:
                asyncio.run(make_config())
            case ["shards"]:
                asyncio.run(make_shards(os.environ.get("FEED_MONGO_DATABASE", "feedstorm")))
            case _:
                sys.stderr.write("Usage: python -m compose.docker.shards config|shards\n")
                return 2
    except (NeverHappenedError, PyMongoError) as error:
        sys.stderr.write(f"shards: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
