"""The stack's users and members, in the words of a test."""

import asyncio
import contextlib
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import httpx

from compose.embedded.stack import EmbeddedStack
from compose.stack import Component, Member, State, worker_metrics
from compose.waiting import wait_until
from results.audit.quiet import wait_quiet

SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"FEED_CELEBRITY_THRESHOLD": "6", "FEED_FALLBACK_RPS": "40", "FEED_LIKE_SHARDS": "8"}
)
SOON_S: Final = 20.0
"""How long a test waits for what takes a moment on a quiet machine."""
BOUND_S: Final = 3.0
"""The app answers within 2 s whatever happens; one more for a machine that does other things too."""


class Town:
    def __init__(self, stack: EmbeddedStack, client: httpx.AsyncClient) -> None:
        self.stack, self._client = stack, client
        self.slowest_s = 0.0

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, stack: EmbeddedStack) -> AsyncIterator["Town"]:
        async with httpx.AsyncClient(timeout=15) as client:
            yield cls(stack, client)

    # -- members ---------------------------------------------------------------------------

    def members(self, component: Component, kind: str | None = None) -> list[Member]:
        return [
            member
            for member in self.stack.members
            if member.component is component and (kind is None or member.kind == kind)
        ]

    def api(self, number: int = 0) -> str:
        return self.stack.endpoints.api[number]

    async def act(self, verb: str, *names: str) -> None:
        """`kill`, `pause`, `resume`, `start` members. The control blocks, so in a thread."""
        for name in names:
            await asyncio.to_thread(getattr(self.stack.control, verb), name)

    async def mend(self) -> None:
        """Whatever a test has left broken works again."""
        for member in self.stack.members:
            state = await asyncio.to_thread(self.stack.control.state, member.name)
            if state is State.PAUSED:
                await self.act("resume", member.name)
            elif state is not State.RUNNING:
                await self.act("start", member.name)
        await self.stack.wait_ready(within_s=90)

    # -- requests --------------------------------------------------------------------------

    async def ask(
        self, method: str, path: str, *, by: str | None = None, key: str | None = None, **more: Any
    ) -> httpx.Response:
        """One request to an API instance (`api`: its number); remembers how long the slowest took."""
        url = self.api(more.pop("api", 0)) + path
        headers = {"X-User-Id": by} if by else {}
        if key:
            headers["Idempotency-Key"] = key
        begun = time.monotonic()
        response = await self._client.request(method, url, headers=headers, **more)
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        return response

    async def join(self, count: int) -> list[str]:
        answers = [await self.ask("POST", "/users", json={"name": f"user {n}"}) for n in range(count)]
        return [answer.json()["id"] for answer in answers]

    async def follow(self, follower: str, followee: str) -> None:
        answer = await self.ask("PUT", f"/users/{follower}/following/{followee}", by=follower)
        assert answer.status_code == 200, answer.text

    async def post(self, author: str, text: str = "text") -> str:
        answer = await self.ask("POST", "/posts", by=author, json={"text": text}, key=str(uuid.uuid4()))
        assert answer.status_code == 201, answer.text
        post_id: str = answer.json()["id"]
        return post_id

    async def feed(self, user: str, *, api: int = 0) -> list[str]:
        """The ids on the first page; the answer has to be 200."""
        answer = await self.ask("GET", "/feed", by=user, api=api)
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"]]

    async def sees(self, user: str, *posts: str, within_s: float = SOON_S) -> float:
        """Wait until all of these are in the feed; how long it took."""
        begun = time.monotonic()

        async def there() -> bool:
            return set(posts) <= set(await self.feed(user))

        await wait_until(there, "the feed showing the posts", within_s=within_s)
        return time.monotonic() - begun

    async def like_count(self, post: str) -> int:
        count: int = (await self.ask("GET", f"/posts/{post}/likes/count")).json()["count"]
        return count

    # -- what is stored --------------------------------------------------------------------

    async def drained(self) -> None:
        """Nothing is under way any more, by what the workers say themselves."""
        quiet = await asyncio.to_thread(wait_quiet, worker_metrics(self.stack.members), within_s=60)
        assert quiet.after_s is not None, quiet.under_way

    async def run(self, *arguments: str, data: bytes = b"") -> tuple[int, str]:
        """A command of the app on this stack: its exit status and all it printed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "reference_app",
            *arguments,
            env=dict(os.environ) | self.stack.app_env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(60):
            output, _ = await process.communicate(data)
        return process.returncode or 0, output.decode()

    async def exact(self) -> None:
        """All counters are what the rows say."""
        await self.drained()
        status, output = await self.run("reconcile")
        assert status == 0, output
