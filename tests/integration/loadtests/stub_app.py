"""A stand-in for the reference app: the whole HTTP API in memory, and misbehaviour on request.

    python -m tests.integration.loadtests.stub_app --port P [--population users=..,..]

`GET /stub/counts` says how many requests of each op were received (other than /stub/ ones).
`PUT /stub/behave` with {"delay_s": .., "fail_share": .., ...} sets any field of `Behaviour`.
"""

import argparse
import asyncio
import dataclasses
import itertools
import re
import time
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import httptools
import orjson

from loadtests.population import Population, parse_population

Reply = tuple[int, Any]
PROBLEM_HEADERS = b"Content-Type: application/problem+json\r\n"


@dataclass
class Behaviour:
    """How the stub departs from good behaviour. All off by default.

    `fail_every` N answers each Nth request with `fail_status`; `hide_every` N never shows each Nth
    post in a feed; posts show up `fanout_s` late; `skew_s` is the error of the stub's clock.
    """

    delay_s: float = 0.0
    fail_every: int = 0
    fail_status: int = 500
    retry_after: bool = False
    drop_every: int = 0
    hide_every: int = 0
    fanout_s: float = 0.0
    skew_s: float = 0.0
    wrong_feed: str = ""  # "other user", "empty", "twice", "order"


@dataclass
class StoredPost:
    id: str
    author: str
    created: float
    shown_at: float
    text: str

    def json(self, likes: int) -> dict[str, Any]:
        return {
            "id": self.id,
            "authorId": self.author,
            "text": self.text,
            "tags": [],
            "createdAt": _rfc3339(self.created),
            "likeCount": likes,
            "commentCount": 0,
            "likedBy": {"users": [], "others": likes},
        }


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")


class StubApp:
    """The state, and one method per route."""

    def __init__(self, population: Population) -> None:
        self.population, self.behaviour = population, Behaviour()
        self.received: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._index = {user: index for index, user in enumerate(population.ids)}
        self._posts: dict[str, StoredPost] = {}
        self._by_author: dict[str, deque[StoredPost]] = defaultdict(lambda: deque(maxlen=30))
        self._likes: dict[str, set[str]] = defaultdict(set)
        self._comments: dict[str, deque[dict[str, Any]]] = defaultdict(lambda: deque(maxlen=20))
        self._changed: dict[str, dict[str, bool]] = defaultdict(dict)  # followee -> follower -> following
        self._followees: dict[str, tuple[str, ...]] = {}
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Reply]]] = [
            (method, re.compile(pattern + "$"), answer)
            for method, pattern, answer in (
                ("GET", "/feed", self.feed),
                ("PUT", "/posts/([^/]+)/like", self.like),
                ("DELETE", "/posts/([^/]+)/like", self.unlike),
                ("GET", "/posts/([^/]+)/likes/count", self.like_count),
                ("POST", "/posts/([^/]+)/comments", self.comment),
                ("GET", "/posts/([^/]+)/comments", self.comments),
                ("GET", "/posts/([^/]+)", self.post),
                ("POST", "/posts", self.publish),
                ("PUT", "/users/([^/]+)/following/([^/]+)", self.follow),
                ("DELETE", "/users/([^/]+)/following/([^/]+)", self.unfollow),
                ("GET", "/users/([^/]+)/(followers|following)/count", self.edge_count),
                ("GET", "/users/([^/]+)/(followers|following)", self.edges),
                ("GET", "/users/([^/]+)/relationship/([^/]+)", self.relationship),
                ("GET", "/users/([^/]+)", self.user),
                ("GET", "/users", self.users),
                ("POST", "/media/uploads", self.upload),
                ("GET", "/healthz", lambda *_: (200, {"ok": True})),
                ("GET", "/stub/counts", lambda *_: (200, dict(self.received))),
                ("PUT", "/stub/behave", self.behave),
            )
        ]

    def answer(self, method: str, target: str, caller: str, body: bytes) -> Reply | None:
        """None: close the connection without an answer."""
        path, _, query = target.partition("?")
        routes = (
            (pattern, pattern.match(path), reply) for verb, pattern, reply in self._routes if verb == method
        )
        pattern, match, reply = next((route for route in routes if route[1]), (None, None, None))
        if pattern is None or match is None or reply is None:
            return 404, {"status": 404, "title": "no such route"}
        if not path.startswith(("/stub/", "/healthz")):
            number = next(self._numbers)
            self.received[f"{method} {pattern.pattern}"] += 1
            self.received["all"] += 1
            behaviour = self.behaviour
            if behaviour.drop_every and number % behaviour.drop_every == 0:
                return None
            if behaviour.fail_every and number % behaviour.fail_every == 0:
                return behaviour.fail_status, {"status": behaviour.fail_status, "title": "as asked"}
        return reply(caller, parse_qs(query), body, *match.groups())

    def behave(self, caller: str, query: Any, body: bytes) -> Reply:
        self.behaviour = dataclasses.replace(self.behaviour, **orjson.loads(body))
        return 200, dataclasses.asdict(self.behaviour)

    # -- posts ----------------------------------------------------------------------------------

    def publish(self, caller: str, query: Any, body: bytes) -> Reply:
        now, number = time.time(), len(self._posts)
        hidden = self.behaviour.hide_every and number % self.behaviour.hide_every == 0
        post = StoredPost(
            id=str(uuid.uuid4()),
            author=caller,
            created=now + self.behaviour.skew_s,
            shown_at=float("inf") if hidden else now + self.behaviour.fanout_s,
            text=orjson.loads(body)["text"],
        )
        self._posts[post.id] = post
        self._by_author[caller].appendleft(post)
        return 201, post.json(0)

    def post(self, caller: str, query: Any, body: bytes, post: str) -> Reply:
        if post not in self._posts:
            return 404, {"status": 404, "title": "no such post"}
        return 200, self._posts[post].json(len(self._likes[post]))

    def feed(self, caller: str, query: dict[str, list[str]], body: bytes) -> Reply:
        now, wrong = time.time(), self.behaviour.wrong_feed
        posts = [
            post
            for author in self._followed_by(caller)
            for post in self._by_author.get(author, ())
            if post.shown_at <= now
        ]
        posts.sort(key=lambda post: (post.created, post.id), reverse=wrong != "order")
        if "cursor" in query:
            after = self._posts[query["cursor"][0]]
            posts = [post for post in posts if (post.created, post.id) < (after.created, after.id)]
        limit = int(query.get("limit", ["20"])[0])
        items = [post.json(len(self._likes[post.id])) for post in posts[:limit]]
        if wrong == "twice":
            items = [item for item in items for _ in (1, 2)]
        more = posts[limit - 1].id if len(posts) > limit else None
        return 200, {
            "userId": "somebody else" if wrong == "other user" else caller,
            "items": [] if wrong == "empty" else items,
            "nextCursor": more,
            "stale": False,
        }

    def like(self, caller: str, query: Any, body: bytes, post: str) -> Reply:
        self._likes[post].add(caller)
        return 202, {"accepted": True}

    def unlike(self, caller: str, query: Any, body: bytes, post: str) -> Reply:
        self._likes[post].discard(caller)
        return 202, {"accepted": True}

    def like_count(self, caller: str, query: Any, body: bytes, post: str) -> Reply:
        return 200, {"count": len(self._likes[post])}

    def comment(self, caller: str, query: Any, body: bytes, post: str) -> Reply:
        made = {
            "id": str(uuid.uuid4()),
            "postId": post,
            "authorId": caller,
            "text": orjson.loads(body)["text"],
            "createdAt": _rfc3339(time.time()),
        }
        self._comments[post].appendleft(made)
        return 201, made

    def comments(self, caller: str, query: Any, body: bytes, post: str) -> Reply:
        return 200, {"items": list(self._comments[post]), "nextCursor": None}

    # -- users ----------------------------------------------------------------------------------

    def follow(self, caller: str, query: Any, body: bytes, user: str, other: str) -> Reply:
        changed = not self._changed[other].get(user, False)
        self._changed[other][user] = True
        return 200, {"following": True, "changed": changed}

    def unfollow(self, caller: str, query: Any, body: bytes, user: str, other: str) -> Reply:
        changed = self._changed[other].get(user, False)
        self._changed[other][user] = False
        return 200, {"following": False, "changed": changed}

    def edge_count(self, caller: str, query: Any, body: bytes, user: str, side: str) -> Reply:
        return 200, {"count": sum(self._changed[user].values()) if side == "followers" else 0}

    def edges(self, caller: str, query: Any, body: bytes, user: str, side: str) -> Reply:
        return 200, {"items": [], "nextCursor": None}

    def relationship(self, caller: str, query: Any, body: bytes, user: str, other: str) -> Reply:
        return 200, {"following": True, "followedBy": False, "mutual": False}

    def user(self, caller: str, query: Any, body: bytes, user: str) -> Reply:
        return 200, self._user(user)

    def users(self, caller: str, query: dict[str, list[str]], body: bytes) -> Reply:
        return 200, {"items": [self._user(user) for user in query["ids"][0].split(",")]}

    def upload(self, caller: str, query: Any, body: bytes) -> Reply:
        url = "http://media.example/upload"
        return 201, {"id": str(uuid.uuid4()), "status": "pending", "uploadUrl": url}

    def _user(self, user: str) -> dict[str, Any]:
        return {
            "id": user,
            "name": "somebody",
            "followerCount": 0,
            "followingCount": 0,
            "isCelebrity": False,
            "createdAt": "",
        }

    def _followed_by(self, user: str) -> tuple[str, ...]:
        known = self._followees.get(user)
        if known is None:
            index, population = self._index[user], self.population
            followed = [*population.followed_by(index), *population.celebrities_followed_by(index)]
            known = self._followees[user] = tuple(population.user_id(other) for other in followed)
        return known


class Connection(asyncio.Protocol):
    def __init__(self, app: StubApp) -> None:
        self._app = app
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url, self._body, self._caller = url.decode(), b"", ""

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-user-id":
            self._caller = value.decode()

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode()
        reply = self._app.answer(method, self._url, self._caller, self._body)
        delay_s = 0.0 if self._url.startswith("/stub/") else self._app.behaviour.delay_s
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._reply, reply)
        else:
            self._reply(reply)

    def _reply(self, reply: Reply | None) -> None:
        if reply is None:
            self._transport.close()
            return
        status, content = reply
        body = orjson.dumps(content)
        kind = PROBLEM_HEADERS if status >= 400 else b"Content-Type: application/json\r\n"
        if status == 503 and self._app.behaviour.retry_after:
            kind += b"Retry-After: 1\r\n"
        head = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n" % (status, len(body))
        self._transport.write(head + kind + b"\r\n" + body)


async def serve(app: StubApp, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(app), "127.0.0.1", port, backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--population", default="users=300,celebrities=1,celebrity_followers=150")
    arguments = parser.parse_args()
    asyncio.run(serve(StubApp(parse_population(arguments.population, Population.seed)), arguments.port))
