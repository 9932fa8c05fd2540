"""The collecting side of a swarm, in the master or in a process that runs alone: it writes what the
workers report, keeps the roll of them, and says at the end what the run was worth."""

import sys
from collections.abc import Callable
from typing import Any, Final

import gevent
import msgspec

from loadtests.journal import Journal
from loadtests.messages import Done, Report
from loadtests.roll import Roll
from loadtests.settings import Settings
from loadtests.shapes import area
from loadtests.summary import Summary
from results.history import Clock, GeneratorSecond, OpSecond, WorkerChange

LOOK_EVERY_S: Final = 0.25
DRAIN_GRACE_S: Final = 2.0

_DECODER: Final = msgspec.json.Decoder(OpSecond | GeneratorSecond)
_ENCODER: Final = msgspec.json.Encoder()


class Collector:
    """One per test."""

    def __init__(self, settings: Settings, clock: Clock, say: Callable[[str], None]) -> None:
        self._settings, self._clock, self._say = settings, clock, say
        self._journal = Journal(settings.run_dir)
        self.roll, self.summary = Roll(), Summary()
        self._began, self._ended = clock.now(), 0.0
        self.exceptions: list[str] = []
        self.unwritten = ""
        self._closed = False
        self._watch = gevent.spawn(self._keep_watch)

    def on_report(self, report: Report) -> None:
        if self._closed:
            return  # a worker that comes back after the end
        self._note(self.roll.heard(report.worker, self._clock.now(), report.sent, report.abandoned))
        for line in report.series.splitlines():
            self.summary.add(_DECODER.decode(line))
        self._append(series=report.series, staleness=report.staleness, ledger=report.ledger)

    def on_done(self, done: Done) -> None:
        if self._closed:
            return
        if done.detail:
            self.exceptions.append(f"{done.worker}: {done.detail}")
        self._note(self.roll.done(done.worker, self._clock.now(), done.sent, done.abandoned, done.detail))

    def stopping(self) -> None:
        """The load is over; what is in flight is drained."""
        self._ended = self._ended or self._clock.now()

    @property
    def shortfall(self) -> str:
        """What to say if the rate that was asked for was not reached; "" if it was."""
        arrivals, shape = self._settings.arrivals, self._settings.shape
        if arrivals is None:
            return ""
        return self.summary.falls_short(arrivals * area(shape, self._ended - self._began))

    @property
    def is_degraded(self) -> bool:
        """Whether this is not the load that was asked for."""
        return bool(self.roll.lost or self.roll.intervals or self.shortfall)

    def await_done(self, is_cut: Callable[[], bool]) -> None:
        """Wait until every worker that still reports has drained; bounded."""
        deadline = self._clock.now() + self._settings.drain_s + DRAIN_GRACE_S
        while self.roll.expected and self._clock.now() < deadline:
            if is_cut():
                deadline = min(deadline, self._clock.now() + DRAIN_GRACE_S)
            gevent.sleep(0.02)

    def close(self) -> None:
        """No more rows. Says what the run was worth, once."""
        if self._closed:
            return
        self._closed = True
        self._watch.kill()
        self._journal.close()
        self._say("\n".join(["", *self.summary.lines(), *self._troubles()]))

    def _troubles(self) -> list[str]:
        lines = [f"worker {text}; what it did after that is not counted" for text in self.roll.lost]
        lines += [f"worker {text}, then returned; counted once" for text in self.roll.intervals]
        lines += [self.shortfall] if self.shortfall else []
        if self.is_degraded:
            lines.append("DEGRADED: this is not the load that was asked for")
        return lines + [f"worker {text}" for text in self.exceptions]

    def _keep_watch(self) -> None:
        while True:
            gevent.sleep(LOOK_EVERY_S)
            self._note(self.roll.silent(self._clock.now()))

    def _note(self, changes: list[WorkerChange]) -> None:
        for change in changes:
            if change.state in ("lost", "returned"):
                self._say(f"worker {change.worker} {change.state} at {change.t:.1f} s: {change.detail}")
            self._append(series=_ENCODER.encode(change))

    def _append(self, *, series: bytes = b"", staleness: bytes = b"", ledger: bytes = b"") -> None:
        try:
            self._journal.append(series=series, staleness=staleness, ledger=ledger)
        except OSError as error:
            self.unwritten = self.unwritten or f"the run's rows could not be written: {error}"


def say(text: str) -> None:
    """To people, beside Locust's own tables."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def report_of(data: Any) -> Report:
    return msgspec.convert(data, Report, builtin_types=(bytes,))


def done_of(data: Any) -> Done:
    return msgspec.convert(data, Done)
