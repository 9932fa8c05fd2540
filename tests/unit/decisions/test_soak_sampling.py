"""Sampling: what is there is written, what cannot be looked at is a hole, and nothing stops the watch."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from chaos.sampling import Probe, Reading, Sampler, Sampling, owed
from chaos.scene import Scene
from chaos.soak import checkpoint
from chaos.soak.probes import process, runner
from chaos.soak.progress import SoakPlainView, bar, share
from compose.stack import Stack
from compose.waiting import wait_until
from results.audit import ReadError
from results.audit.gauges import GaugeReading
from results.history import GAUGES, Clock, Gauge, read_rows
from tests.unit.chaos.fakes import FakeStack
from tests.unit.results.histories import SyntheticRun


def gauges(directory: Path) -> list[Gauge]:
    return list(read_rows(directory / GAUGES, Gauge))


def good() -> Iterator[Reading]:
    yield "api1", "rss_mib", 50.0
    yield "api1", "lag", float("nan")


def broken() -> Iterator[Reading]:
    yield "api2", "rss_mib", 1.0
    raise ConnectionRefusedError("paused")


async def test_the_watch_goes_on_whatever_a_probe_does(tmp_path: Path) -> None:
    closed = threading.Event()
    stuck = threading.Event()

    def hangs() -> Iterator[Reading]:
        stuck.wait(20)
        yield "late", "rss_mib", 1.0

    def probes(_stack: Stack, closing: ExitStack) -> list[Probe]:
        closing.callback(closed.set)
        return [broken, hangs, good]

    sampler = Sampler(Sampling(probes, every_s=0.01), FakeStack(tmp_path), tmp_path, Clock())
    task = asyncio.create_task(sampler.run())
    await wait_until(lambda: len(gauges(tmp_path)) >= 3, "three looks", within_s=30)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    stuck.set()
    assert closed.is_set()
    found = gauges(tmp_path)
    assert {(gauge.member, gauge.name, gauge.value) for gauge in found} == {("api1", "rss_mib", 50.0)}
    assert [gauge.t for gauge in found] == sorted(gauge.t for gauge in found)


def test_a_process_is_measured_and_a_dead_one_is_not() -> None:
    mine = {name: value for _, name, value in process("me", os.getpid())}
    assert mine["rss_mib"] > 1
    assert mine["open_files"] >= 3
    assert mine["threads"] >= 1
    assert [name for _, name, _ in runner()] == list(mine)
    assert list(process("gone", 2**22 + 1)) == []


def test_what_is_owed_is_told_by_the_workers_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(urls: list[str], names: list[str], within_s: float) -> list[GaugeReading]:
        if urls == ["dead"]:
            raise ReadError("refused")
        assert names == ["feed_outbox_pending"]
        return [GaugeReading(names[0], "", {"one": 3.0, "two": 4.0}[urls[0]])]

    monkeypatch.setattr("chaos.sampling.read_gauges", read)
    assert list(owed(["one", "dead", "two"])) == [("workers", "feed_outbox_pending", 7.0)]
    assert list(owed(["dead"])) == []


def test_a_checkpoint_reports_a_run_that_is_still_going_on(tmp_path: Path) -> None:
    SyntheticRun(tmp_path).phase(0, "warmup").phase(5, "baseline").ops("GET /feed", 0, 9).history()
    page = checkpoint.write(tmp_path)
    assert "the run has no end" in page.read_text()
    assert (tmp_path / "verdict.json").exists()


async def test_checkpoints_are_written_by_another_process_until_they_are_not_wanted(tmp_path: Path) -> None:
    SyntheticRun(tmp_path).phase(0, "warmup").phase(5, "baseline").ops("GET /feed", 0, 9).history()
    task = asyncio.create_task(checkpoint.again_and_again(tmp_path, every_s=0.01))
    await wait_until((tmp_path / "report.html").exists, "a report", within_s=60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not [child for child in psutil.Process().children() if "chaos.soak.checkpoint" in child.cmdline()]


@pytest.mark.parametrize(
    ("elapsed", "total", "percent"), [(0, 0, 0), (-3, 10, 0), (5, 10, 50), (99, 10, 100)]
)
def test_how_much_is_done(elapsed: float, total: float, percent: float) -> None:
    assert share(Scene(elapsed_s=elapsed, total_s=total)) == percent


def test_the_bar_says_what_is_left() -> None:
    console = Console(file=StringIO(), width=60)
    console.print(bar(Scene(elapsed_s=30, total_s=7200)))
    assert isinstance(console.file, StringIO)
    assert "0 %  1:59:30 left" in console.file.getvalue()


def test_without_a_terminal_there_is_a_line_a_minute() -> None:
    console = Console(file=StringIO(), width=160)
    view = SoakPlainView(console)
    for second in range(3):
        view.show(Scene(elapsed_s=second, total_s=10))
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().count("\n") == 1
