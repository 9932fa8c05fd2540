"""Puts claims to the test, one after the other, each on a ground of its own and within its bound."""

import asyncio
import math
import time

from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from chaos.claims.evidence import CannotShowError, Claim, Finding
from chaos.claims.ground import ground_on
from chaos.claims.judging import cannot_show, judge
from compose.stack import Endpoints

_LEAST_S = 0.01


async def put_to_the_test(
    claim: Claim, endpoints: Endpoints, seed: int, *, left_s: float = math.inf
) -> Finding:
    """Run one experiment. What goes wrong with it is a finding too: then nothing was shown.

    `left_s` is what is left of the time for all claims together.
    """
    began = time.monotonic()
    within_s = min(claim.within_s, left_s)
    if within_s < _LEAST_S:
        return cannot_show(claim, "there was no time left for it: --within gives more", 0.0)
    try:
        async with ground_on(endpoints, seed) as ground:
            evidence = await asyncio.wait_for(claim.experiment(ground), within_s)
    except TimeoutError:
        why = f"the experiment did not end within {within_s:.3g} s: this stack is too slow for it"
    except CannotShowError as error:
        why = str(error)
    except (PyMongoError, RedisError, OSError) as error:
        why = f"the experiment could not be run ({type(error).__name__}: {str(error).splitlines()[0][:200]})"
    else:
        return judge(claim, evidence, time.monotonic() - began)
    return cannot_show(claim, why, time.monotonic() - began)
