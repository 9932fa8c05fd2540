"""The sending side of a process: makes the load of one test, reports each second, drains at the end."""

import math
import random
import time
from typing import Any, Final

import gevent
from locust import User

from loadtests.arrivals import Executor, Scheduler
from loadtests.cast import Cast
from loadtests.http.traffic import traffic_of
from loadtests.ledger import Ledger
from loadtests.messages import DONE, REPORT, Done, Report, lines, pack
from loadtests.mishaps import Mishaps
from loadtests.pacing import Pacer
from loadtests.recorder import Recorder
from loadtests.settings import Settings
from loadtests.shapes import CelebrityMoment
from loadtests.users import Author
from loadtests.workload import Workload, set_workload
from results.history import Clock

REPORT_EVERY_S: Final = 1.0
REPORT_AFTER_S: Final = 0.03  # past the whole second, so that its last ops are in
PULSE_S: Final = 0.1
DRAIN_LOOK_S: Final = 0.02


class Sender:
    """`began` is when the load began, in seconds of the run; `total_shares` how many there are in all."""

    def __init__(self, environment: Any, settings: Settings, clock: Clock, mishaps: Mishaps) -> None:
        self._environment, self._settings, self._clock, self._mishaps = environment, settings, clock, mishaps
        self._runner = environment.runner
        index = max(0, self._runner.worker_index)
        self.worker = f"w{index}"
        self._traffic = traffic_of(environment)
        self._before = (self._traffic.sent, self._traffic.abandoned)
        self._recorder = Recorder(clock, self._traffic, self.worker, arrival=settings.arrival)
        self._ledger = Ledger(clock, self.worker)
        rng = random.Random(f"{settings.seed}:{index}")
        workers = max(1, environment.parsed_options.expect_workers)
        self.workload = Workload(settings, clock, self._ledger, rng, self.worker, index, workers)
        self._scheduler: Scheduler | None = None
        self._executor: Executor | None = None
        self._background: list[gevent.Greenlet] = []
        self._draining = self._drained = False

    # -- the beginning -----------------------------------------------------------------------

    def start(self, mix: dict[type[User], float], began: float) -> None:
        """Begin to record and to report; with open arrivals, also to send as shares are taken."""
        set_workload(self._environment, self.workload)
        self._settings.population.warm_up()
        self._environment.events.request.add_listener(self._recorder.on_request)
        if self._settings.arrivals is not None:
            self._open(self._settings.arrivals, mix, began)
        self._send(Report(self.worker, sent=0, abandoned=0))  # "joined"
        self._background += [gevent.spawn(self._keep_pulse), gevent.spawn(self._keep_reporting)]
        if isinstance(self._settings.shape, CelebrityMoment) and self.workload.index == 0:
            wait_s = began + self._settings.shape.at - self._clock.now()
            self._background.append(gevent.spawn_later(max(0.0, wait_s), self._celebrity_moment))

    def _open(self, arrivals: float, mix: dict[type[User], float], began: float) -> None:
        settings, rng = self._settings, self.workload.rng
        cast = Cast(self._environment, mix, rng)
        self._executor = Executor(
            cast.play, self._traffic, limit=settings.max_in_flight, give_up_s=settings.read_timeout_s
        )
        shape, start = settings.shape, self._clock.t0 + began
        self._scheduler = Scheduler(
            lambda t: arrivals * shape(t - start),
            self._executor,
            self._traffic,
            lambda rate, now: Pacer(rate, now, settings.spacing, rng),
        )
        self._scheduler.start()

    def take_share(self, share: float) -> None:
        """Hold so much more (or less) of the whole rate."""
        if self._scheduler is not None and not self._draining:
            self._scheduler.hold(share)

    def _celebrity_moment(self) -> None:
        Author(self._environment).publish_as_celebrity()

    # -- while it runs ------------------------------------------------------------------------

    def _keep_pulse(self) -> None:
        while True:
            self._traffic.beat(time.monotonic())
            gevent.sleep(PULSE_S)

    def _keep_reporting(self) -> None:
        while True:
            now = self._clock.now()
            gevent.sleep(REPORT_EVERY_S - (now - REPORT_AFTER_S) % REPORT_EVERY_S)
            self._report()

    def _report(self) -> None:
        sent, abandoned = self._totals()
        self._send(
            Report(
                worker=self.worker,
                sent=sent,
                abandoned=abandoned,
                series=lines(self._recorder.take()),
                staleness=lines(self.workload.take_staleness()),
                ledger=lines(self._ledger.take()),
            )
        )

    def _send(self, report: Report) -> None:
        self._runner.send_message(REPORT, pack(report))

    def _totals(self) -> tuple[int, int]:
        return self._traffic.sent - self._before[0], self._traffic.abandoned - self._before[1]

    # -- the end -----------------------------------------------------------------------------

    def cut(self) -> None:
        """Drain no longer."""
        self.workload.cut = True

    def drain(self) -> None:
        """Stop arrivals, let what is in flight end, abandon what does not, and report for the last time.

        Blocks for up to the drain's length, and only the first call does anything.
        """
        if self._draining:
            while not self._drained:
                gevent.sleep(DRAIN_LOOK_S)
            return
        self._draining = True
        if self._scheduler is not None:
            self._scheduler.stop()
        stopping = gevent.spawn(self._runner.stop_users, self._runner.user_classes_count)
        deadline = time.monotonic() + self._settings.drain_s
        while self._is_busy() and time.monotonic() < deadline and not self.workload.cut:
            gevent.sleep(DRAIN_LOOK_S)
        self.workload.cut = True
        self._abandon()
        stopping.kill(block=False)
        gevent.killall(self._background)
        self._traffic.pulse = math.inf
        self._environment.events.request.remove_listener(self._recorder.on_request)
        self._report()
        self._runner.send_message(DONE, pack(Done(self.worker, *self._totals(), self._mishaps.detail())))
        self._drained = True

    def _is_busy(self) -> bool:
        busy = self._executor.busy if self._executor is not None else 0
        return bool(busy or self._traffic.in_flight or len(self.workload.probes))

    def _abandon(self) -> None:
        if self._executor is not None:
            self._executor.kill()
        for group in (self._runner.user_greenlets, self.workload.probes, self.workload.helpers):
            group.kill(block=True, timeout=2)
