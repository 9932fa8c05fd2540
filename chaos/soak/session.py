"""A soak from beginning to end. What differs from a drill: sampling, and reports along the way."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chaos import rundir
from chaos.live import View
from chaos.runner import Ending, Run, Runner
from chaos.session import Finished, Request, a_stack, audit_run, clear_leftovers, only_one, populate
from chaos.soak.sampling import Sampler, probes_for, runner
from chaos.stacks import arm
from chaos.stop import Stop
from compose.stack import Stack
from results import report, verdict
from results.history import History


async def run_soak(
    request: Request, view: View, stop: Stop, *, sample_every_s: float, checkpoint_every_s: float
) -> Finished:
    """Raises ChaosError or StackError if there is no run to judge."""
    with only_one(request.home):
        async with a_stack(request, view, stop) as stack:
            arsenal = arm(stack, request.home, request.allowed_hosts)
            await clear_leftovers(request.home, arsenal, view)
            await populate(request.home, stack, request.drill.population, request.seed, view, stop)
            directory = rundir.create(request.runs, request.drill.drill)
            rundir.describe(directory, request.drill, stack, seed=request.seed, command=request.command)
            run = Runner(Run(request.drill, request.seed, directory, request.home), arsenal, view, stop)
            probes = [*probes_for(stack, request.home, request.seed), runner]
            sampler = Sampler(probes, directory, run.clock, sample_every_s)
            try:
                async with _meanwhile(sampler.run(), _checkpoints(directory, checkpoint_every_s)):
                    ending = await run.run()
                return await _judge(request, stack, directory, ending, view, stop)
            finally:
                logs = [member.log for member in stack.members if member.log is not None]
                rundir.copy_logs(directory, [*logs, request.home / "logs" / "reaper.log"])


@asynccontextmanager
async def _meanwhile(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """These go on for the time of the context."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _checkpoints(directory: Path, every_s: float) -> None:
    """Reports of what is there until now; whatever ends the soak, the last ones are not older than this."""
    while True:
        await asyncio.sleep(every_s)
        await asyncio.to_thread(checkpoint, directory)


def checkpoint(directory: Path) -> Path:
    """Judge and report a run that is still going on, or was ended by force. Returns the report's path."""
    verdict.judge(History.load(directory), None)
    return report.write(directory).html


async def _judge(
    request: Request, stack: Stack, directory: Path, ending: Ending, view: View, stop: Stop
) -> Finished:
    findings = None
    if not stop.again.is_set():
        with view.step("auditing the acknowledged writes"):
            invariants = tuple(request.drill.invariants)
            findings = await asyncio.to_thread(audit_run, directory, stack, invariants)
    judged = await asyncio.to_thread(verdict.judge, History.load(directory), findings)
    paths = await asyncio.to_thread(report.write, directory)
    return Finished(judged, ending, directory, paths.html)
