"""Runs one member of the replica set.

    python -m compose.embedded.mongo --listen H:P --advertise H:P --members H:P,H:P,H:P --store H:P

`--advertise` is the name by which clients know the member, `--listen` where it really is.
"""

import argparse
import asyncio
import signal
from contextlib import suppress

import uvloop

from compose.embedded.mongo.client import StoreLostError, split_address
from compose.embedded.mongo.connection import ClientConnection
from compose.embedded.mongo.member import Member, say
from compose.embedded.ports import listen


async def serve(arguments: argparse.Namespace) -> None:
    """Run one member until SIGTERM; then hand over to another one and end."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    member = Member(
        arguments.advertise,
        tuple(arguments.members.split(",")),
        arguments.store,
        election_s=arguments.election_timeout,
        heartbeat_s=arguments.heartbeat,
    )
    sock = await listen(*split_address(arguments.listen))
    server = await loop.create_server(lambda: ClientConnection(member), sock=sock)
    say(f"{member.advertised}: waiting for connections on {arguments.listen}")
    heartbeats = asyncio.create_task(member.run())
    limits = asyncio.create_task(member.learn_limits())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({heartbeats, stopping}, return_when=asyncio.FIRST_COMPLETED)
    limits.cancel()
    if heartbeats.done():  # a broken heartbeat must not leave a primary behind that nobody can depose
        heartbeats.result()
    heartbeats.cancel()
    with suppress(StoreLostError, asyncio.CancelledError):
        await asyncio.wait_for(member.election.leave(), 2)
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m compose.embedded.mongo")
    for name in ("listen", "advertise", "members", "store"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--election-timeout", type=float, default=10.0, help="seconds")
    parser.add_argument("--heartbeat", type=float, default=0.5, help="seconds between heartbeats")
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
