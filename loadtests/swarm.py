"""Puts a swarm together inside Locust, in whatever role the process has: alone, master or worker.

    alone:   Sender -> Collector, in one process
    worker:  Sender -> Locust's message -> the master's Collector

Locust has three ways down (a time limit, a signal, the web page's stop button), and all of them come
through `test_stopping`: that is where the load is drained, before Locust stops its users.
"""

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

import gevent
from locust import events
from locust import stats as locust_stats
from locust.runners import STATE_RUNNING, STATE_SPAWNING, LocalRunner, MasterRunner, WorkerRunner

from loadtests import messages
from loadtests.casting import CastList, cast_list, least_users, put_in_place, shares_of
from loadtests.collector import Collector, done_of, report_of, say
from loadtests.http.pool import HostError, Pool
from loadtests.http.user import RawHttpUser
from loadtests.mishaps import Mishaps
from loadtests.mix import MixError
from loadtests.sender import Sender
from loadtests.settings import Settings, add_options, settings_of
from loadtests.shares import Arrivals
from loadtests.signals import Signals, end_with, parent_pid
from loadtests.web_form import refuse_mistakes
from results.history import Clock

EXIT_USAGE: Final = 2
EXIT_NO_DATA: Final = 3
EXIT_EXCEPTION: Final = 4
EXIT_INTERRUPTED: Final = 130


def attach() -> None:
    """Make a locustfile a swarm: call this once in it, beside its user classes."""
    hooks: Any = events  # Locust's events have no types
    hooks.init_command_line_parser.add_listener(add_options)
    hooks.init.add_listener(_init)


def _init(environment: Any, **_: Any) -> None:
    try:
        Swarm(environment)
    except (MixError, HostError) as error:
        if not isinstance(environment.runner, WorkerRunner):
            say(str(error))
        sys.exit(EXIT_USAGE)


class Swarm:
    """One process of a swarm, from Locust's init to its exit."""

    def __init__(self, environment: Any) -> None:
        self._environment, self._runner, self._options = (
            environment,
            environment.runner,
            environment.parsed_options,
        )
        self._sender: Sender | None = None
        self._collector: Collector | None = None
        self._signals, self._mishaps = Signals(), Mishaps()
        self._stopping = self._cut = self._quitting = False
        self._is_worker = isinstance(self._runner, WorkerRunner)
        self._is_master = isinstance(self._runner, MasterRunner)
        self._original_classes = list(environment.user_classes)
        self._placed: list[Any] = []
        if not self._is_worker:
            self._plan()
            self._plan_before_each_start()
        self._signals.install()
        # Locust sets its time limit next, and the loop's idea of "now" is from before all imports: on a
        # busy machine the limit would be over before it began.
        gevent.get_hub().loop.update_now()
        self._watch_parents()
        self._listen()

    # -- before the first test ---------------------------------------------------------------

    def _plan(self) -> Settings:
        """Fix what has to be known before Locust deals out users: classes, time-outs. A wrong option or
        address is told here, not by every user."""
        if self._environment.user_classes != self._placed:  # others were picked on the web page
            self._original_classes = list(self._environment.user_classes)
        settings = settings_of(self._options)
        cast = self._checked_cast(settings, self._environment.host)
        put_in_place(self._environment, cast, settings, self._workers)
        self._placed = list(self._environment.user_classes)
        if settings.arrivals is not None:
            self._options.enable_rebalancing = True  # what a lost worker held goes to the others
        self._environment.stop_timeout = max(self._environment.stop_timeout or 0.0, settings.drain_s)
        return settings

    def _checked_cast(self, settings: Settings, host: str | None) -> CastList:
        """Raises MixError, HostError."""
        if host:
            Pool(host, 1.0)
        return cast_list(self._original_classes, settings)

    def _mistake(self, options: Any) -> str:
        try:
            cast = self._checked_cast(settings_of(options), options.host)
            if not options.host and any(issubclass(kind, RawHttpUser) for kind in cast):
                Pool("", 1.0)  # says what is missing
        except (MixError, HostError) as error:
            return str(error)
        return ""

    @property
    def _workers(self) -> int:
        return max(1, self._options.expect_workers, self._runner.worker_count) if self._is_master else 1

    def _plan_before_each_start(self) -> None:
        """Locust calls `start` for every test, also for one that the web page has other options for."""
        start = self._runner.start

        def planned(user_count: int, spawn_rate: float, *more: Any, **named: Any) -> None:
            if self._runner.state not in (STATE_RUNNING, STATE_SPAWNING):
                settings = self._plan()
                user_count = max(user_count, least_users(settings, self._workers))
                self._options.feedstorm_shares = shares_of(user_count, settings)
            start(user_count, spawn_rate, *more, **named)

        self._runner.start = planned
        if self._environment.web_ui is not None:
            refuse_mistakes(self._environment.web_ui.app, self._options, self._mistake)

    def _watch_parents(self) -> None:
        if self._is_worker and self._options.processes:  # forked by the master, which drains it
            end_with(os.getppid(), "the master of this worker", lambda text: None)
        elif (pid := parent_pid()) is not None:
            end_with(pid, "the process that started this swarm", say)

    def _listen(self) -> None:
        hooks = self._environment.events
        hooks.test_start.add_listener(self._on_start)
        hooks.test_stopping.add_listener(self._on_stopping)
        hooks.test_stop.add_listener(self._on_stop)
        hooks.quitting.add_listener(self._on_quitting)
        hooks.quit.add_listener(self._on_quit)
        hooks.user_error.add_listener(self._mishaps.on_user_error)
        logging.getLogger().addHandler(self._mishaps)
        if self._is_worker:
            self._runner.register_message(messages.DRAIN, self._on_drain, concurrent=True)
            self._runner.register_message(messages.CUT, self._on_cut)
        else:
            self._runner.register_message(messages.REPORT, self._on_report)
            self._runner.register_message(messages.DONE, self._on_done)

    # -- a test begins -----------------------------------------------------------------------

    def _on_start(self, **_: Any) -> None:
        self._stopping = self._cut = False
        settings = settings_of(self._options)
        if not self._is_worker:
            clock = Clock.of_run()
            self._share_clock(clock)
            self._collector = Collector(settings, clock, say)
        if not self._is_master:
            self._start_sending(settings)

    def _start_sending(self, settings: Settings) -> None:
        cast = cast_list(self._original_classes, settings)
        if self._is_worker:
            put_in_place(self._environment, cast, settings, max(1, self._options.expect_workers))
        self._sender = sender = Sender(self._environment, settings, self._shared_clock(), self._mishaps)
        shares = self._options.feedstorm_shares or 1
        Arrivals.take = staticmethod(lambda _, count: sender.take_share(count / shares))
        sender.start(cast, self._options.feedstorm_began)

    def _share_clock(self, clock: Clock) -> None:
        """Hand the run's clock to the workers, beside the options that Locust sends them."""
        self._options.feedstorm_t0 = clock.t0
        self._options.feedstorm_wall_t0 = time.time() - clock.now()
        self._options.feedstorm_boot = _boot_id()
        self._options.feedstorm_began = clock.now()

    def _shared_clock(self) -> Clock:
        """The run's clock in a worker. Processes of one machine share the monotonic clock itself;
        others go by the wall clock, and are as exact as that is kept."""
        if self._options.feedstorm_boot == _boot_id():
            return Clock(self._options.feedstorm_t0)
        return Clock(time.monotonic() - (time.time() - self._options.feedstorm_wall_t0))

    # -- while it runs -----------------------------------------------------------------------

    def _on_report(self, msg: Any, **_: Any) -> None:
        if self._collector is not None:
            self._collector.on_report(report_of(msg.data))

    def _on_done(self, msg: Any, **_: Any) -> None:
        if self._collector is not None:
            self._collector.on_done(done_of(msg.data))

    # -- the way down ------------------------------------------------------------------------

    def _on_stopping(self, **_: Any) -> None:
        """Drain. Being called again while at it means a second signal: then drain no longer."""
        if self._stopping:
            self._stop_draining()
            return
        self._stopping = True
        try:
            self._drain()
        except KeyboardInterrupt:
            self._stop_draining()
            self._drain()
        if self._collector is not None:
            self._collector.close()

    def _drain(self) -> None:
        if self._collector is not None:
            self._collector.stopping()
        if self._is_master and self._collector is not None:
            self._options.enable_rebalancing = False
            self._runner.send_message(messages.DRAIN, {})
            self._collector.await_done(lambda: self._cut)
        elif self._sender is not None:
            self._sender.drain()

    def _stop_draining(self) -> None:
        self._cut = True
        if self._is_master:
            self._runner.send_message(messages.CUT, {})
        elif self._sender is not None:
            self._sender.cut()

    def _on_drain(self, **_: Any) -> None:
        if self._sender is not None:
            self._sender.drain()
            self._runner._send_stats()  # Locust's own numbers go with ours

    def _on_cut(self, **_: Any) -> None:
        if self._sender is not None:
            self._sender.cut()

    def _on_stop(self, **_: Any) -> None:
        """Without its last worker Locust's master stops the test and waits for ever: go on to the end."""
        if self._is_master and self._options.headless and not self._quitting:
            gevent.spawn_later(1.0, self._runner.quit)

    def _on_quitting(self, **_: Any) -> None:
        """Locust fires this before it stops anything, and twice after SIGTERM: stop first, judge then."""
        if self._quitting:
            self._stop_draining()
            gevent.sleep(120)  # the other one ends the process
        self._quitting = True
        self._stop_runner()
        if not self._is_worker and self._environment.process_exit_code is None:
            self._environment.process_exit_code = self._exit_code()
        self._quitting = self._is_worker or self._signals.first is not None

    def _stop_runner(self) -> None:
        try:
            if isinstance(self._runner, MasterRunner):
                self._runner.stop(send_stop_to_client=False)
            elif isinstance(self._runner, LocalRunner):
                self._runner.stop()
            elif self._sender is not None:
                self._sender.drain()
        except KeyboardInterrupt:
            self._stop_draining()
            self._stop_runner()

    def _exit_code(self) -> int | None:
        """None: as Locust decides, which is by failed ops (`--exit-code-on-error`)."""
        collector = self._collector
        if self._mishaps.count or (collector is not None and collector.exceptions):
            return EXIT_EXCEPTION
        if collector is None or collector.summary.ended == 0:
            sent = 0 if collector is None else collector.roll.sent
            say(f"no data: {sent} requests were sent, and not one was answered before the end")
            return EXIT_NO_DATA
        if collector.unwritten:
            say(collector.unwritten)
            return EXIT_NO_DATA
        if parent_pid() is not None:
            return 0  # whoever started the swarm judges its ops
        if self._signals.first is not None and self._options.run_time:
            say("interrupted before the time limit: the results are partial")
            return EXIT_INTERRUPTED
        if collector.is_degraded:
            return EXIT_NO_DATA
        return None

    def _on_quit(self, **_: Any) -> None:
        """Locust closes its CSV files next: let its writer have its turn after the drain."""
        if getattr(self._options, "csv_prefix", None):
            gevent.sleep(locust_stats.CSV_STATS_INTERVAL_SEC + 0.2)


def _boot_id() -> str:
    """Equal in all processes that share a monotonic clock."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
