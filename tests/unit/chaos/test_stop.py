import asyncio
import os
import signal
import threading

import pytest

from chaos.errors import InterruptedRunError
from chaos.stop import SIGNALS, Stop, in_daemon_thread, stop_on_signals


@pytest.mark.parametrize("number", SIGNALS)
async def test_every_signal_asks_for_the_same(number: signal.Signals) -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        with pytest.raises(InterruptedRunError, match=number.name):
            await stop.guard(asyncio.sleep(30))
    assert signal.getsignal(number) != signal.SIG_IGN


async def test_a_second_signal_only_counts_and_is_answered() -> None:
    said: list[str] = []
    stop = Stop(said.append)
    stop.ask("SIGINT")
    assert not stop.again.is_set()
    stop.ask("SIGINT")
    assert stop.again.is_set()
    assert "being healed already" in said[-1]


async def test_what_is_guarded_is_cancelled_and_awaited() -> None:
    stop, cleaned = Stop(), []

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    asyncio.get_running_loop().call_later(0.05, stop.ask, "SIGTERM")
    with pytest.raises(InterruptedRunError):
        await stop.guard(work())
    assert cleaned == [True]


async def test_what_ends_by_itself_gives_its_result_or_its_error() -> None:
    async def fails() -> None:
        raise OSError("no")

    assert await Stop().guard(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(OSError, match="no"):
        await Stop().guard(fails())


async def test_an_audit_that_is_told_to_stop_or_too_slow_is_left_behind() -> None:
    let_go, never = threading.Event(), asyncio.Event()
    slow = lambda: let_go.wait(30)  # noqa: E731 - stands for an audit
    assert await in_daemon_thread(slow, until=never, within_s=0.05) is None
    told = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, told.set)
    assert await in_daemon_thread(slow, until=told, within_s=30) is None
    let_go.set()
    assert await in_daemon_thread(lambda: 7, until=never, within_s=30) == 7


async def test_an_audit_that_fails_fails_where_it_is_awaited() -> None:
    def fails() -> int:
        raise ValueError("no such invariant")

    with pytest.raises(ValueError, match="no such invariant"):
        await in_daemon_thread(fails, until=asyncio.Event(), within_s=30)
