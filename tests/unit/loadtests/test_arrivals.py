"""The executor and the scheduler on real greenlets, without Locust and without any server."""

import random
import time
from itertools import pairwise

import gevent
import pytest

from loadtests.arrivals import Executor, Scheduler
from loadtests.http.traffic import Traffic
from loadtests.pacing import Pacer


def eventually(condition: object, within_s: float = 3.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "never happened"
        gevent.sleep(0.005)


def test_work_beyond_the_limit_waits_in_order_of_arrival() -> None:
    done: list[float] = []

    def work(intended: float) -> None:
        gevent.sleep(0.01)
        done.append(intended)

    executor = Executor(work, Traffic(), limit=2, give_up_s=60)
    now = time.monotonic()
    instants = [now + n / 1000 for n in range(9)]
    for instant in instants:
        executor.submit(instant)
    gevent.sleep(0)
    assert executor.busy == 2
    eventually(lambda: len(done) == 9)
    assert done == instants
    eventually(lambda: executor.busy == 0)
    executor.kill()


def test_work_that_waited_too_long_is_abandoned_and_not_sent() -> None:
    traffic, done = Traffic(), []
    gate = gevent.event.Event()

    def work(intended: float) -> None:
        gate.wait(5)
        done.append(intended)

    executor = Executor(work, traffic, limit=1, give_up_s=0.05)
    for _ in range(3):
        executor.submit(time.monotonic())
    gevent.sleep(0.1)
    gate.set()
    eventually(lambda: traffic.abandoned == 2)
    assert len(done) == 1
    executor.kill()


def test_at_the_end_what_was_not_sent_is_abandoned() -> None:
    traffic = Traffic()
    executor = Executor(lambda intended: gevent.sleep(5), traffic, limit=1, give_up_s=60)
    for _ in range(4):
        executor.submit(time.monotonic())
    executor.drop_queue()
    assert traffic.abandoned == 3
    executor.kill()
    assert executor.busy == 0


def scheduler(rate: float, started: list[float], traffic: Traffic) -> Scheduler:
    executor = Executor(started.append, traffic, limit=50, give_up_s=60)
    return Scheduler(
        lambda t: rate, executor, traffic, lambda r, now: Pacer(r, now, "even", random.Random(0))
    )


def test_ops_start_at_their_intended_instants() -> None:
    started: list[float] = []
    traffic = Traffic()
    running = scheduler(100, started, traffic)
    running.start()
    running.hold(1.0)
    began = time.monotonic()
    gevent.sleep(1.0)
    running.hold(0.0)  # brings it up to this instant
    elapsed = time.monotonic() - began
    running.stop()
    gevent.sleep(0.01)
    assert traffic.planned == pytest.approx(100 * elapsed, abs=3)
    assert traffic.planned == len(started) + traffic.abandoned
    assert all(later - earlier == pytest.approx(0.01) for earlier, later in pairwise(started))


def test_half_a_share_is_half_the_rate_and_no_share_is_nothing() -> None:
    traffic = Traffic()
    running = scheduler(200, [], traffic)
    running.start()
    gevent.sleep(0.2)
    assert traffic.planned == 0
    running.hold(0.5)
    began = time.monotonic()
    gevent.sleep(0.5)
    running.hold(-0.5)
    elapsed, half = time.monotonic() - began, traffic.planned
    gevent.sleep(0.3)
    running.stop()
    assert half == pytest.approx(100 * elapsed, abs=3)
    assert traffic.planned == half


def test_what_fell_due_while_the_process_stood_still_is_not_sent_late() -> None:
    started: list[float] = []
    traffic = Traffic()
    running = scheduler(50, started, traffic)
    running.start()
    running.hold(1.0)
    gevent.sleep(0.3)
    before = len(started)
    time.sleep(1.5)  # blocks every greenlet, as a freeze does
    gevent.sleep(0.05)
    running.stop()
    assert traffic.abandoned >= 60
    assert len(started) - before < 15
