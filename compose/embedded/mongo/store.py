"""The store that the members share: SecantusDB with its defects repaired, as a process of its own.

python -m compose.embedded.mongo.store --port N --dir DIR
"""

import argparse
import logging
import os
import signal
from types import FrameType

from secantus.server import SecantusDBServer

from compose.embedded.mongo import repairs
from compose.embedded.ports import LOOPBACK, is_free

MOST_CONNECTIONS = 2_000
CACHE_SIZE = "256M"
IDLE_TIMEOUT_S = 24 * 3600.0  # drivers keep connections in reserve, and mongod never closes them


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m compose.embedded.mongo.store")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--stock", action="store_true", help="leave the defects in, to show them")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    if not is_free(arguments.port):  # found out before a database is made
        parser.exit(1, f"store: address already in use: {LOOPBACK}:{arguments.port}\n")
    run(arguments.port, arguments.dir, repaired=not arguments.stock)


def run(port: int, directory: str, *, repaired: bool = True) -> None:
    """Serve until SIGTERM."""
    if repaired:
        repairs.apply()
    server = SecantusDBServer(
        host=LOOPBACK,
        port=port,
        storage_path=directory,
        replica_set_name=None,  # no oplog, which would cost a third of every write: members keep no copies
        enable_test_commands=False,
        client_idle_timeout_s=IDLE_TIMEOUT_S,
        max_connections=MOST_CONNECTIONS,
        cache_size=CACHE_SIZE,
    )

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.stop()
        os._exit(0)  # its threads wait for clients that will never say anything

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.start()
    server.wait()


if __name__ == "__main__":
    main()
