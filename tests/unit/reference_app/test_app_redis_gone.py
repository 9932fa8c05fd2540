"""Without a connection every call on feeds says the same plain thing, whatever it does at once."""

import asyncio
from collections.abc import Awaitable, Callable

import hiredis
import pytest

from reference_app.domain.feed import Entry
from reference_app.errors import StoreRefusedError, StoreUncertainError
from reference_app.stores.redis.feeds import CHUNK, RedisFeeds
from reference_app.stores.redis.link import RedisLink, ReplyError, checked

USERS = [f"u{number}" for number in range(3 * CHUNK)]
POST = Entry(1, "p")


@pytest.mark.parametrize(
    "ask",
    [
        lambda feeds: feeds.read("u1", after=None, limit=5),
        lambda feeds: feeds.push(POST, USERS),
        lambda feeds: feeds.push(POST, USERS[:1]),
        lambda feeds: feeds.publish("u1", POST),
        lambda feeds: feeds.hide(USERS, ["p"]),
    ],
)
async def test_a_call_is_refused(ask: Callable[[RedisFeeds], Awaitable[object]]) -> None:
    feeds = RedisFeeds(RedisLink("redis://127.0.0.1:1", timeout_s=1), size=10)
    with pytest.raises(StoreRefusedError, match="not connected yet"):
        await ask(feeds)


async def test_a_call_in_the_instant_after_the_connection_broke_is_refused_too() -> None:
    """The link learns of the break one turn of the loop later than its connection."""
    handshakes = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(b":1\r\n")
        handshakes.append(writer)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        link = RedisLink(f"redis://127.0.0.1:{port}", timeout_s=1)
        link.start()
        await link.usable()
        connection = link._connection
        assert connection is not None
        connection.connection_lost(None)
        with pytest.raises(StoreRefusedError, match="the connection broke"):
            async with asyncio.timeout(5):
                await link.call("GET", "x")
        await link.close()
        for writer in handshakes:
            writer.close()


READONLY = hiredis.ReplyError("READONLY You can't write. script: on @user_script:6.")
DEFECT = hiredis.ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value")


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([READONLY], StoreRefusedError),
        (
            [READONLY, hiredis.ReplyError("OOM command not allowed")],
            StoreRefusedError,
        ),
        ([1, READONLY], StoreUncertainError),
        ([1, DEFECT], ReplyError),
        ([READONLY, DEFECT], ReplyError),
    ],
)
def test_a_redis_that_cannot_do_it_now_is_an_outage_and_no_defect(
    replies: list[object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        checked(replies)
    assert checked([1, b"x", None]) == [1, b"x", None]
