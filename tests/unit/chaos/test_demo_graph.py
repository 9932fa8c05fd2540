"""`demo-graph` against an API in memory: what it prints, and what it says when a call fails."""

import io
import random
from typing import Any

import pytest
from rich.console import Console

from chaos.commands.demo_graph import FOLLOWS, MORE_THAN, USERS, trial
from chaos.errors import CouldNotRunError
from chaos.live import PlainView


class Api:
    """Answers like the API; `fails_after` follows every further one is refused, `forgets` loses the last."""

    def __init__(self, *, fails_after: int | None = None, forgets: bool = False) -> None:
        self.users: list[str] = []
        self.follows: list[tuple[str, str]] = []
        self.fails_after, self.forgets = fails_after, forgets

    async def post(self, _path: str, body: object, caller: str = "") -> Any:
        self.users.append(f"id{len(self.users)}")
        return {"id": self.users[-1]}

    async def put(self, path: str, caller: str) -> Any:
        if self.fails_after is not None and len(self.follows) >= self.fails_after:
            raise CouldNotRunError(f"PUT {path} was answered 503: not now")
        _, _, follower, _, followee = path.split("/")
        if (follower, followee) not in self.follows:
            self.follows.append((follower, followee))

    async def get(self, path: str) -> Any:
        user = path.split("/")[2]
        followers = [follower for follower, followee in self.follows if followee == user]
        if path.endswith("/followers/count"):
            return {"count": len(followers) - self.forgets}
        assert "order=oldest" in path
        return {
            "items": [{"userId": follower, "since": "2026-01-01T00:00:00Z"} for follower in followers[:5]]
        }


async def _run(api: Api) -> None:
    await trial(api, random.Random(1), PlainView(Console(file=io.StringIO())))


async def test_the_earliest_followers_and_the_count_of_a_popular_user_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    api = Api()
    await _run(api)
    assert len(api.users) == USERS
    assert len(api.follows) <= FOLLOWS
    *_, last = capsys.readouterr().out.splitlines()
    words = last.split()
    assert int(words[3]) > MORE_THAN
    assert f"(expected: {words[3]})" in last


async def test_a_call_that_fails_is_told_in_one_sentence() -> None:
    with pytest.raises(CouldNotRunError, match="was answered 503: not now"):
        await _run(Api(fails_after=100))


async def test_a_count_that_is_wrong_is_an_error() -> None:
    with pytest.raises(CouldNotRunError, match="the API counts"):
        await _run(Api(forgets=True))
