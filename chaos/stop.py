"""Signals become one event: the run is to end, heal and be written, whichever signal it was.

INT, TERM, HUP, QUIT and USR1 all ask for the same thing. None of them ever cuts a healing short: the
first sets the event, later ones only count, and whoever does something that may be cut short (an
audit) looks at the count.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

from chaos.errors import InterruptedRunError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)
Result = TypeVar("Result")


class Stop:
    """Whether the run was asked to end. `again` is set by a second signal."""

    def __init__(self, on_signal: Callable[[str], None] = lambda _: None) -> None:
        self.asked, self.again = asyncio.Event(), asyncio.Event()
        self.signal_name = ""
        self._on_signal = on_signal

    def ask(self, name: str) -> None:
        """What a signal does: end the run, for the reason of that name."""
        if self.asked.is_set():
            self.again.set()
            self._on_signal(f"{name} again: everything is being healed already, the run ends after that")
            return
        self.signal_name = name
        self.asked.set()
        self._on_signal(f"{name}: healing everything, then the run ends")

    def check(self) -> None:
        """Raises InterruptedRunError if the run was asked to end."""
        if self.asked.is_set():
            raise InterruptedRunError(f"interrupted by {self.signal_name}")

    async def guard(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Await `work`, or cancel it when the run is asked to end. Raises InterruptedRunError then."""
        task = asyncio.create_task(work)
        asked = asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            task.cancel()
            await asyncio.wait({task})
            raise InterruptedRunError(f"interrupted by {self.signal_name}")
        finally:
            asked.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


@contextmanager
def stop_on_signals(on_signal: Callable[[str], None] = lambda _: None) -> Iterator[Stop]:
    """Within the context, in a running event loop, signals set the `Stop` that is handed out."""
    loop, stop = asyncio.get_running_loop(), Stop(on_signal)
    for number in SIGNALS:
        loop.add_signal_handler(number, stop.ask, number.name)
    try:
        yield stop
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def in_daemon_thread(
    work: Callable[[], Result], *, until: asyncio.Event, within_s: float
) -> Result | None:
    """What `work` returns; None if `until` is set first, or `within_s` seconds pass.

    An abandoned thread goes on and does not keep the process from ending: only for work that reads.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(cast(Result, result))

    def run() -> None:
        try:
            outcome: tuple[Result | None, BaseException | None] = (work(), None)
        except Exception as error:  # is raised where it is awaited
            outcome = (None, error)
        with suppress(RuntimeError):  # nobody waits any more: the loop is closed
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, daemon=True).start()
    stopped = asyncio.create_task(until.wait())
    enders: set[asyncio.Future[Any]] = {future, stopped}
    try:
        await asyncio.wait(enders, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        return future.result() if future.done() else None
    finally:
        stopped.cancel()
