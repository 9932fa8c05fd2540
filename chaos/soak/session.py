"""A soak from beginning to end. What differs from a drill: what is looked at, and reports along the way."""

from dataclasses import replace

from chaos.live import View
from chaos.sampling import Sampling
from chaos.session import Finished, Request, run_drill
from chaos.soak.checkpoint import again_and_again
from chaos.soak.probes import probes_for
from chaos.stop import Stop


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
            request,
            sampling=sampling,
            meanwhile=lambda directory: again_and_again(directory, checkpoint_every_s),
        ),
        view,
        stop,
    )
