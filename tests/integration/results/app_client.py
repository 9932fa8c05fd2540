"""A user of the reference app that keeps a ledger of what it wrote, one request after the other."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from results.history import LedgerEntry, WriteKind

_TRY_FOR_S = 30.0
"""A busy machine makes the app shed; the same key is tried again."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class AppClient:
    """Talks to one API instance; everything it writes must be acknowledged."""

    url: str
    began: float = field(default_factory=time.monotonic)
    ledger: list[LedgerEntry] = field(default_factory=list)

    def user(self, name: str) -> str:
        return str(self.ask("POST", "/users", "", {"name": name, "id": str(uuid4())})["id"])

    def follow(self, follower: str, followee: str) -> None:
        self._write("follow", "PUT", f"/users/{follower}/following/{followee}", follower, followee)

    def unfollow(self, follower: str, followee: str) -> None:
        self._write("unfollow", "DELETE", f"/users/{follower}/following/{followee}", follower, followee)

    def post(self, author: str, text: str) -> str:
        return self._write("post", "POST", "/posts", author, author, {"text": text})

    def comment(self, author: str, post: str, text: str) -> str:
        return self._write("comment", "POST", f"/posts/{post}/comments", author, post, {"text": text})

    def like(self, user: str, post: str) -> None:
        self._write("like", "PUT", f"/posts/{post}/like", user, post)

    def unlike(self, user: str, post: str) -> None:
        self._write("unlike", "DELETE", f"/posts/{post}/like", user, post)

    def feed(self, user: str) -> list[str]:
        return [item["id"] for item in self.ask("GET", "/feed?limit=50", user)["items"]]

    def ask(
        self, method: str, path: str, user: str, body: dict[str, Any] | None = None, key: str = ""
    ) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "X-User-Id": user or str(uuid4())}
        headers |= {"Idempotency-Key": key} if key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        deadline = time.monotonic() + _TRY_FOR_S
        while True:
            try:
                with _OPENER.open(request, timeout=10) as response:
                    answer: dict[str, Any] = json.loads(response.read())
                    return answer
            except urllib.error.HTTPError as error:
                error.close()
                if error.code not in (503, 504) or time.monotonic() >= deadline:
                    raise
                time.sleep(0.2)

    def _write(
        self,
        kind: WriteKind,
        method: str,
        path: str,
        actor: str,
        target: str,
        body: dict[str, Any] | None = None,
    ) -> str:
        key, t = str(uuid4()), time.monotonic() - self.began
        id = str(self.ask(method, path, actor, body, key).get("id", ""))
        done = time.monotonic() - self.began
        self.ledger.append(LedgerEntry(t, done, kind, "ok", actor, target, key, id, 200))
        return id
