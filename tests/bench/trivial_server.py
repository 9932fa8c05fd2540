"""The same trivial answers for every load generator: one small canned body per route, nothing else.

python -m tests.bench.trivial_server PORT
"""

import asyncio
import sys
from typing import Any

ITEM = b'{"id":"%s","authorId":"a","postId":"p","createdAt":"2026-01-01T00:00:00.000Z","text":"x"}'
POST_ID = b"5f0c5a0e-7a1c-5f0e-9d0e-feed57000000"
FEED = b'{"userId":"%s","items":[%s],"nextCursor":null,"stale":false}'
BY_ROUTE: tuple[tuple[bytes, bytes, bytes], ...] = (
    (b"PUT /posts/", b"202", b'{"accepted":true}'),
    (b"DELETE /posts/", b"202", b'{"accepted":true}'),
    (b"PUT /users/", b"200", b'{"following":true,"changed":true}'),
    (b"DELETE /users/", b"200", b'{"following":false,"changed":true}'),
    (b"POST /media", b"201", b'{"id":"m","status":"pending","uploadUrl":"http://m.example/"}'),
    (b"POST /posts", b"201", b'{"id":"%s"}' % POST_ID),
    (b"GET /users?", b"200", b'{"items":[]}'),
)


def answer(request: bytes) -> tuple[bytes, bytes]:
    """(status, body) for the bytes of one request."""
    if request.startswith(b"GET /feed"):
        start = request.find(b"X-User-Id: ")
        user = request[start + 11 : request.find(b"\r", start)] if start > 0 else b""
        return b"200", FEED % (user, ITEM % POST_ID)
    for prefix, status, body in BY_ROUTE:
        if request.startswith(prefix):
            return status, body
    path = request[4 : request.find(b" ", 4)].partition(b"?")[0]
    if path.endswith(b"/count"):
        return b"200", b'{"count":7}'
    if path.endswith((b"/followers", b"/following", b"/comments")):
        return b"200", b'{"items":[],"nextCursor":null}'
    if b"/relationship/" in path:
        return b"200", b'{"following":false,"followedBy":false,"mutual":false}'
    thing = path.rpartition(b"/")[2]
    return b"200", b'{"id":"%s","authorId":"a","likeCount":1,"followerCount":1,"followingCount":1}' % thing


class Connection(asyncio.Protocol):
    """Requests come whole and one at a time, as all generators here send them."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        end = data.find(b"\r\n\r\n")
        length_at = data.find(b"ontent-Length: ")
        length = int(data[length_at + 15 : data.find(b"\r", length_at)]) if 0 <= length_at < end else 0
        if end < 0 or len(data) < end + 4 + length:
            self._rest = data
            return
        self._rest = b""
        status, body = answer(data)
        head = b"HTTP/1.1 %b X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self._transport.write(head % (status, len(body)) + body)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve(int(sys.argv[1])))
