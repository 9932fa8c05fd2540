"""The one-shot `init` service: proxies, replica set, topics, indexes. Safe to repeat.

It runs on the app's network and sees what the app sees: `mongo1:27017` is the proxy's address of a
member. So when it is done, the app's way to every store has been walked once.

Environment: `FEED_MONGO_URI` (its hosts become the members), `FEEDSTORM_TOXIPROXY_URL`,
`FEEDSTORM_ELECTION_TIMEOUT_S`, `FEEDSTORM_APP_MODULE`, and what the app itself reads.
"""

import asyncio
import os
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from compose.docker import replica_set
from compose.waiting import NeverHappenedError, wait_until

PROXIES = Path(__file__).parent.parent / "toxiproxy.json"
_TOXIPROXY_WITHIN_S = 30.0


async def make_proxies(url: str) -> None:
    """Have Toxiproxy hold every proxy of `toxiproxy.json`. Those that it has already stay as they are."""

    def populate() -> bool:
        request = urllib.request.Request(
            f"{url}/populate",
            data=PROXIES.read_bytes(),
            headers={"Content-Type": "application/json", "User-Agent": "feedstorm"},
        )
        with urllib.request.urlopen(request, timeout=3) as answer:
            return bool(answer.status == 201)

    await wait_until(
        populate, f"Toxiproxy at {url} taking the proxies", within_s=_TOXIPROXY_WITHIN_S, every_s=0.2
    )


async def make_replica_set(uri: str, election_timeout_s: float) -> None:
    """Initiate the replica set that the URI names, unless it leads to a router."""
    parsed = parse_uri(uri)
    hosts = [f"{host}:{port}" for host, port in parsed["nodelist"]]
    name = parsed["options"].get("replicaset")
    if name is None and await asyncio.to_thread(replica_set.is_router, hosts[0]):
        return
    document = replica_set.config(name or "rs0", hosts, election_timeout_s=election_timeout_s)
    await replica_set.make(hosts[0], document)


async def run(environment: Mapping[str, str]) -> int:
    """Every step in turn; the exit code of the last. Raises NeverHappenedError, PyMongoError."""
    await make_proxies(environment["FEEDSTORM_TOXIPROXY_URL"])
    timeout_s = float(environment.get("FEEDSTORM_ELECTION_TIMEOUT_S", "10"))
    await make_replica_set(environment["FEED_MONGO_URI"], timeout_s)
    app = environment.get("FEEDSTORM_APP_MODULE", "reference_app")
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", app, "init")
    return await process.wait()


def main() -> int:
    try:
        return asyncio.run(run(os.environ))
    except KeyError as missing:
        sys.stderr.write(f"init: {missing} is not set.\n")
    except (NeverHappenedError, PyMongoError, ValueError) as error:
        sys.stderr.write(f"init: {error}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
