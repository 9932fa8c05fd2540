"""Feeds and celebrities' newest posts in Redis.

feed:{user}               ZSET  post id -> ms; bounded
pulled:{user}             SET   authors to merge at read, and `-` once the feed has been built
building:{user}           a claim on building it, for a moment
removals:{user}           how often something was taken out lately: a feed built meanwhile is built again
celeb:{user}:posts:{0..9} ZSET  copies, post id -> ms, and `-` at 0 once they have been loaded
"""

import random
from collections.abc import Sequence
from typing import Any, Final

from reference_app.domain.feed import Entry
from reference_app.stores.ports import FeedSlice
from reference_app.stores.redis.link import Argument, Command, RedisLink, ReplyError
from reference_app.stores.redis.scripts import BUILD, LOAD_COPIES, Script

COPIES: Final = 10
BUILT: Final = b"-"
CHUNK: Final = 50
"""Feeds in one round trip of a fan-out, and one at a time: for so many other clients have to wait."""
TRIM_EVERY: Final = 128
"""A push trims one feed in so many: a feed is longer than its size by about as many entries."""
_REBUILD_AFTER_S: Final = 6 * 3600
_CLAIM_MS: Final = 1500
_REMOVALS_S: Final = 60
"""Far longer than the building of a feed may take."""
_LOST: Final = "lost"
_LOOK_BACK: Final = 32
"""Extra entries read past a cursor, for those that share its millisecond."""


class RedisFeeds:
    """Implements `FeedCache`. `size` is how many entries a feed keeps."""

    def __init__(self, link: RedisLink, *, size: int, randomness: random.Random | None = None) -> None:
        self._link, self._size = link, size
        self._random = randomness or random.Random()

    async def read(self, user: str, *, after: Entry | None, limit: int) -> FeedSlice:
        size = limit if after is None else limit + _LOOK_BACK
        feed = ("ZREVRANGE", f"feed:{user}", 0, size - 1, "WITHSCORES")
        members, flat = await self._link.pipeline(
            [("SMEMBERS", f"pulled:{user}"), feed if after is None else _older(user, after, 0, size)]
        )
        if BUILT not in members:
            return FeedSlice([], None)
        entries = found = _entries(flat)
        if after is not None:
            entries, offset = [entry for entry in found if entry < after], 0
            # Hardly ever: so many posts share the cursor's millisecond that there is no whole page yet.
            while len(entries) < limit and len(found) == size:
                offset += size
                found = _entries(await self._link.call(*_older(user, after, offset, size)))
                entries += [entry for entry in found if entry < after]
        return FeedSlice(entries, [member.decode() for member in members if member != BUILT])

    async def began_ms(self) -> int:
        """Something is written: a Redis that is read-only or full answers reads."""
        epoch, _, emptied_ns = (await self.epoch()).rpartition(":")
        return 0 if epoch == _LOST else int(emptied_ns) // 1_000_000

    async def epoch(self) -> str:
        *_, epoch = await self._link.pipeline(self._ask_epoch())
        return (epoch or b"").decode()

    def _ask_epoch(self) -> list[Command]:
        """A flush takes the epoch with it, and so may an eviction, which leaves the rest; the next to ask
        begins a new one."""
        fresh = f"{_LOST}:{self._random.getrandbits(64):x}"
        return [("SET", "epoch", fresh, "NX"), ("GET", "epoch")]

    async def revision(self, user: str) -> str:
        *_, epoch, removals = await self._link.pipeline([*self._ask_epoch(), ("GET", f"removals:{user}")])
        return f"{(epoch or b'').decode()}/{(removals or b'').decode()}"

    async def build(
        self, user: str, entries: Sequence[Entry], pulled: Sequence[str], *, revision: str
    ) -> bool:
        keys = ("epoch", f"removals:{user}", f"feed:{user}", f"pulled:{user}", f"building:{user}")
        flat = [part for entry in entries for part in entry]
        arguments = (revision, len(entries), _REBUILD_AFTER_S, *flat, BUILT, *pulled)
        return bool(await evaluate(self._link, BUILD, keys, arguments))

    async def begin_build(self, user: str) -> bool:
        return await self._link.call("SET", f"building:{user}", 1, "NX", "PX", _CLAIM_MS) is not None

    async def push(self, entry: Entry, users: Sequence[str]) -> None:
        # Drawn, not counted: two authors who take turns would leave half of the feeds untrimmed for ever.
        trimmed = self._random.randrange(TRIM_EVERY)
        for start in range(0, len(users), CHUNK):
            feeds = [f"feed:{user}" for user in users[start : start + CHUNK]]
            commands: list[Command] = [("ZADD", feed, entry.ms, entry.id) for feed in feeds]
            for feed in feeds[(trimmed - start) % TRIM_EVERY :: TRIM_EVERY]:
                commands.append(("ZREMRANGEBYRANK", feed, 0, -self._size - 1))
            await self._link.pipeline(commands)

    async def add(self, user: str, entries: Sequence[Entry]) -> None:
        if entries:
            flat = [part for entry in entries for part in entry]
            trim: Command = ("ZREMRANGEBYRANK", f"feed:{user}", 0, -self._size - 1)
            await self._link.pipeline([("ZADD", f"feed:{user}", *flat), trim])

    async def hide(self, users: Sequence[str], post_ids: Sequence[str]) -> None:
        if post_ids:
            await self._take_out(users, [("ZREM", f"feed:{user}", *post_ids) for user in users])

    async def pull(self, author: str, users: Sequence[str]) -> None:
        await self._link.pipeline([("SADD", f"pulled:{user}", author) for user in users])

    async def unpull(self, author: str, users: Sequence[str]) -> None:
        await self._take_out(users, [("SREM", f"pulled:{user}", author) for user in users])

    async def _take_out(self, users: Sequence[str], removals: Sequence[Command]) -> None:
        """Counted first, so that a feed built in between is not taken for a right one."""
        counts: list[Command] = []
        for user in users:
            counts += [("INCR", f"removals:{user}"), ("EXPIRE", f"removals:{user}", _REMOVALS_S)]
        await self._link.pipeline([*counts, *removals])

    async def celebrity_posts(self, author: str) -> list[Entry] | None:
        copy = f"celeb:{author}:posts:{self._random.randrange(COPIES)}"
        flat = await self._link.call("ZREVRANGE", copy, 0, self._size, "WITHSCORES")
        if BUILT not in flat:
            return None
        return [entry for entry in _entries(flat) if entry.ms > 0]

    async def publish(self, author: str, entry: Entry) -> None:
        """Trimming leaves rank 0, the mark, alone."""
        commands: list[Command] = []
        for copy in _copies(author):
            commands.append(("ZADD", copy, entry.ms, entry.id))
            commands.append(("ZREMRANGEBYRANK", copy, 1, -self._size - 1))
        await self._link.pipeline(commands)

    async def load_celebrity(self, author: str, entries: Sequence[Entry], *, epoch: str) -> bool:
        flat = [part for entry in entries for part in entry]
        arguments = (epoch, _REBUILD_AFTER_S, 0, BUILT, *flat)
        return bool(await evaluate(self._link, LOAD_COPIES, ["epoch", *_copies(author)], arguments))


async def evaluate(
    link: RedisLink, script: Script, keys: Sequence[Argument], arguments: Sequence[Argument]
) -> Any:
    """Run a script by its digest, or whole if this Redis has not seen it."""
    try:
        return await link.call("EVALSHA", script.digest, len(keys), *keys, *arguments)
    except ReplyError as error:
        if not str(error).startswith("NOSCRIPT"):
            raise
    return await link.call("EVAL", script.text, len(keys), *keys, *arguments)


def _copies(author: str) -> list[str]:
    return [f"celeb:{author}:posts:{number}" for number in range(COPIES)]


def _older(user: str, after: Entry, offset: int, count: int) -> Command:
    return ("ZREVRANGEBYSCORE", f"feed:{user}", after.ms, "-inf", "WITHSCORES", "LIMIT", offset, count)


def _entries(flat: list[bytes]) -> list[Entry]:
    """Redis's flat (member, score) reply; scores are whole milliseconds."""
    return [Entry(int(float(flat[i + 1])), flat[i].decode()) for i in range(0, len(flat), 2)]
