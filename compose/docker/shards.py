"""Making the sharded cluster of profile `sharded`; the app's `init` shards its collections on it.

python -m compose.docker.shards config      initiates the config server, which the router waits for
python -m compose.docker.shards shards      initiates the shards and adds them
"""

import asyncio
import os
import sys

from pymongo.errors import PyMongoError

from compose.docker import replica_set
from compose.docker.replica_set import Document
from compose.waiting import NeverHappenedError

CONFIG, SHARDS, ROUTER = "config1:27017", {"shard1": "shard1:27017", "shard2": "shard2:27017"}, "mongos:27020"


def plan(database: str) -> list[Document]:
    """The commands for the router, in order. Each of them may be repeated."""
    commands: list[Document] = [{"addShard": f"{name}/{host}", "name": name} for name, host in SHARDS.items()]
    return [*commands, {"enableSharding": database}]


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
