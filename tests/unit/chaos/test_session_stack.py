"""Whether a drill may use the stack that is up."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from chaos import session
from chaos.drill import Drill, StackWishes
from chaos.errors import CouldNotRunError
from chaos.live import PlainView
from chaos.session import Request, a_stack
from chaos.stop import Stop
from tests.unit.chaos.fakes import FakeStack

WANTED = {"FEED_FALLBACK_RPS": "10"}


async def use(monkeypatch: pytest.MonkeyPatch, home: Path, settings: dict[str, str]) -> None:
    there = FakeStack(home, app_env=settings)
    monkeypatch.setattr(session, "attach", lambda _home: there)
    drill = Drill("picky", "?", stack=StackWishes(env=WANTED))
    request = Request(drill=drill, seed=1, home=home, runs=home)
    async with a_stack(request, PlainView(Console(file=io.StringIO())), Stop()) as stack:
        assert stack is there


async def test_a_stack_with_the_settings_that_the_drill_needs_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await use(monkeypatch, tmp_path, WANTED | {"FEED_STRATEGY": "hybrid"})


@pytest.mark.parametrize("settings", [{}, {"FEED_FALLBACK_RPS": "20"}])
async def test_a_stack_without_them_is_refused_and_what_to_do_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict[str, str]
) -> None:
    with pytest.raises(CouldNotRunError, match=r"needs FEED_FALLBACK_RPS=10, .* `feedstorm down` first"):
        await use(monkeypatch, tmp_path, settings)


async def test_a_stack_with_a_member_that_does_not_run_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = FakeStack(tmp_path)
    there.control.kill("redis")
    there.control.pause("api1")
    monkeypatch.setattr(session, "attach", lambda _home: there)
    request = Request(drill=Drill("any", "?"), seed=1, home=tmp_path, runs=tmp_path)
    with pytest.raises(CouldNotRunError, match=r"redis is down, api1 is paused\); try `feedstorm heal`"):
        async with a_stack(request, PlainView(Console(file=io.StringIO())), Stop()):
            pass
