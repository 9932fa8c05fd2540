"""A trial from beginning to end: have the stores, put claims to the test, leave a record and a page."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from chaos import rundir
from chaos.claims.evidence import Claim
from chaos.claims.page import page
from chaos.claims.record import Trial
from chaos.claims.trial import put_to_the_test
from chaos.live import View
from chaos.session import only_one
from chaos.stacks import attach, create
from chaos.stop import Stop
from compose.stack import Stack, StackOptions
from results.history import write_atomically
from results.report.write import HTML


async def try_claims(
    claims: Sequence[Claim],
    kind: str,
    home: Path,
    runs: Path,
    view: View,
    stop: Stop,
    *,
    seed: int,
    within_s: float,
) -> tuple[Trial, Path]:
    """The trial and the path of its page. All claims together take `within_s` at most.

    Raises:
        InterruptedRunError: somebody asked for the end; what was found until then is written.
        StackError, CouldNotRunError: there are no stores to be had.
    """
    with only_one(home):
        async with _stores(kind, home, view, stop) as stack:
            directory = rundir.create_beside(runs, "claims")
            trial = Trial.begin(directory, stack, seed)
            ends = time.monotonic() + within_s
            try:
                for claim in claims:
                    with view.step(claim.name):
                        left_s = max(0.0, ends - time.monotonic())
                        work = put_to_the_test(claim, stack.endpoints, seed, left_s=left_s)
                        finding = await stop.guard(work)
                    trial.findings.append(finding)
            finally:
                trial.write(directory)
                write_atomically(directory / HTML, page(trial))
            return trial, directory / HTML


@asynccontextmanager
async def _stores(kind: str, home: Path, view: View, stop: Stop) -> AsyncIterator[Stack]:
    """The stack that is up, or the stores alone, brought up for the time of the context."""
    there = attach(home)
    if there is not None:
        view.say(f"using the {there.kind} stack that is up in {home}, and leaving it up")
        yield there
        return
    stack = create(kind, home, StackOptions(services_only=True))
    try:
        with view.step(f"starting the stores of the {stack.kind} stack"):
            await stop.guard(stack.up())
        yield stack
    finally:
        with view.step(f"stopping the {stack.kind} stack"):
            await stack.down()
