"""A proxy whose server is away."""

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def deaf_proxy() -> Iterator[str]:
    """An address, `host:port`, that takes connections and closes them."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=_hang_up, args=(server,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _hang_up(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return
