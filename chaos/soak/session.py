"""A soak from beginning to end. What differs from a drill: what is looked at, and reports along the way."""

import asyncio
from dataclasses import replace
from pathlib import Path

from chaos.live import View
from chaos.sampling import Sampling
from chaos.session import Finished, Request, run_drill
from chaos.soak.probes import probes_for
from chaos.stop import Stop
from results import report, verdict
from results.history import History


async def run_soak(
    request: Request, view: View, stop: Stop, *, sample_every_s: float, checkpoint_every_s: float
) -> Finished:
    """Raises ChaosError or StackError if there is no run to judge."""
    home, seed = request.home, request.seed
    sampling = Sampling(
        lambda stack, closing: probes_for(stack, closing, home, seed), sample_every_s, for_drift=True
    )
    return await run_drill(
        replace(
            request, sampling=sampling, meanwhile=lambda directory: checkpoints(directory, checkpoint_every_s)
        ),
        view,
        stop,
    )


async def checkpoints(directory: Path, every_s: float) -> None:
    """Reports of what is there until now; whatever ends the soak, the last ones are not older than this."""
    while True:
        await asyncio.sleep(every_s)
        await asyncio.to_thread(checkpoint, directory)


def checkpoint(directory: Path) -> Path:
    """Judge and report a run that is still going on, or was ended by force. Returns the report's path."""
    verdict.judge(History.load(directory), None)
    return report.write(directory).html
