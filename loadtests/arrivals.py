"""Open arrivals: ops start when they are meant to, however slow the answers are.

`Scheduler` asks the pacer what is due and hands each intended start to `Executor`, a set of
persistent greenlets behind a first-in-first-out queue. What an op is, is not known here.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event
from gevent.hub import Waiter

from loadtests.http.traffic import FROZEN_S, Traffic
from loadtests.pacing import Pacer

Work = Callable[[float], None]


class Executor:
    """Runs work at once while fewer than `limit` pieces are in hand, and in order of arrival after that.

    Work that has waited for `give_up_s` is abandoned: a client would have given up on it by then.
    """

    def __init__(self, work: Work, traffic: Traffic, *, limit: int, give_up_s: float) -> None:
        self._work, self._traffic, self._limit, self._give_up_s = work, traffic, limit, give_up_s
        self._queue: deque[float] = deque()
        self._idle: list[Waiter[Any]] = []
        self._greenlets: set[gevent.Greenlet] = set()
        self._loop = gevent.get_hub().loop

    @property
    def busy(self) -> int:
        """How many pieces of work are in hand."""
        return sum(not greenlet.dead for greenlet in self._greenlets) - len(self._idle)

    def submit(self, intended: float) -> None:
        if self._idle:
            self._loop.run_callback(self._idle.pop().switch, intended)
        elif len(self._greenlets) < self._limit:
            self._greenlets.add(gevent.spawn(self._serve, intended))
        else:
            self._queue.append(intended)

    def _serve(self, intended: float | None) -> None:
        while True:
            if intended is not None:
                self._work(intended)
            intended = self._next()
            if intended is None:
                waiter: Waiter[Any] = Waiter()
                self._idle.append(waiter)
                intended = waiter.get()

    def _next(self) -> float | None:
        oldest = time.monotonic() - self._give_up_s
        while self._queue:
            intended = self._queue.popleft()
            if intended > oldest:
                return intended
            self._traffic.never_sent(1)
        return None

    def drop_queue(self) -> None:
        """Abandon what has not been sent yet."""
        self._traffic.never_sent(len(self._queue))
        self._queue.clear()

    def kill(self) -> None:
        """Cut off what is in flight; the client counts each op as abandoned."""
        gevent.killall(list(self._greenlets), block=True, timeout=5)
        self._greenlets.clear()
        self._idle.clear()


class Scheduler:
    """Submits each arrival at its intended start, as long as this process holds a share of the rate."""

    def __init__(
        self,
        rate: Callable[[float], float],
        executor: Executor,
        traffic: Traffic,
        make_pacer: Callable[..., Pacer],
    ) -> None:
        """`rate` is the whole swarm's rate at an instant of `time.monotonic()`."""
        self._share, self._executor, self._traffic = 0.0, executor, traffic
        self._pacer = make_pacer(lambda t: rate(t) * self._share, time.monotonic())
        self._changed = Event()
        self._greenlet: gevent.Greenlet | None = None

    def start(self) -> None:
        self._greenlet = gevent.spawn(self._run)

    def hold(self, share: float) -> None:
        """Hold so much more (or less) of the whole rate from now on."""
        self._submit_due()
        self._share = max(0.0, self._share + share)
        self._changed.set()

    def _run(self) -> None:
        woken = time.monotonic()
        while True:
            self._changed.clear()
            self._changed.wait(self._pacer.pause_s())  # also when behind: others must get their turn
            before, woken = woken, time.monotonic()
            self._submit_due(too_late=woken - before > FROZEN_S)

    def _submit_due(self, *, too_late: bool = False) -> None:
        due = self._pacer.due(time.monotonic())
        self._traffic.planned += len(due)
        if too_late:
            self._traffic.never_sent(len(due))
            return
        for intended in due:
            self._executor.submit(intended)

    def stop(self) -> None:
        """No more arrivals. What was submitted and not sent yet is abandoned."""
        if self._greenlet is not None:
            self._greenlet.kill()
            self._greenlet = None
        self._executor.drop_queue()
