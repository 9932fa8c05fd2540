"""Runs the proxy.

    python -m compose.embedded.proxy --port N [--config FILE] [--seed N]

FILE is a JSON list of proxies, `{"name", "listen", "upstream", "enabled"}` each, as Toxiproxy has it.
"""

import argparse
import asyncio
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import uvicorn
import uvloop

from compose.embedded.ports import LOOPBACK, listen
from compose.embedded.proxy.api import ProxyBody, application, put_proxy
from compose.embedded.proxy.proxies import BIND_WITHIN_S, Proxies, ProxyError

STOP_WITHIN_S = 2


class Server(uvicorn.Server):
    """uvicorn's server, but a signal ends it with status 0: being asked to stop is no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        yield

    def _stop(self) -> None:
        self.should_exit = True


async def serve(port: int, wanted: list[ProxyBody], seed: int) -> None:
    """Serve until SIGTERM. Raises ProxyError or OSError if a port stays taken."""
    proxies = Proxies(seed)
    sock = await listen(LOOPBACK, port, within_s=BIND_WITHIN_S)
    for one in wanted:
        await put_proxy(proxies, one, within_s=BIND_WITHIN_S)
    settings = uvicorn.Config(
        application(proxies), log_level="warning", lifespan="off", timeout_graceful_shutdown=STOP_WITHIN_S
    )
    try:
        await Server(settings).serve(sockets=[sock])
    finally:
        await proxies.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m compose.embedded.proxy")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    arguments = parser.parse_args()
    try:
        config = arguments.config.read_bytes() if arguments.config else b"[]"
        wanted = msgspec.json.decode(config, type=list[ProxyBody])
        uvloop.run(serve(arguments.port, wanted, arguments.seed))
    except (OSError, ProxyError, msgspec.DecodeError) as error:
        parser.exit(1, f"proxy: {error}\n")


if __name__ == "__main__":
    main()
