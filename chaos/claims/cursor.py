"""Deep pages: a cursor goes straight there, skip walks over everything before."""

from chaos.claims.evidence import Chart, Claim, Comparison, Evidence, Line, Samples
from chaos.claims.ground import Document, Ground
from chaos.claims.timing import Way, take_turns

FOLLOWERS, PAGE = 1500, 20
_DEPTHS = (0, 400, 1400)
_ORDER = [("createdAt", 1), ("_id", 1)]
_OF_CELEBRITY: Document = {"followeeId": "celebrity", "status": "active"}


async def experiment(ground: Ground) -> Evidence:
    await ground.followers(FOLLOWERS)
    skips: dict[int, Samples] = {}
    cursors: dict[int, Samples] = {}
    for depth in _DEPTHS:
        samples = await take_turns({"skip": _skip(ground, depth), "cursor": _cursor(ground, depth)})
        skips[depth], cursors[depth] = samples["skip"], samples["cursor"]
    deepest = _DEPTHS[-1]
    depths = [float(depth) for depth in _DEPTHS]
    chart = Chart(
        f"A page of {PAGE} at depth",
        "followers before the page",
        "seconds (median)",
        [
            Line("skip", depths, [_median(skips[depth]) for depth in _DEPTHS]),
            Line("cursor", depths, [_median(cursors[depth]) for depth in _DEPTHS]),
        ],
    )
    comparison = Comparison(f"a page at depth {deepest:,}", cursors[deepest], skips[deepest])
    return Evidence(comparisons=[comparison], charts=[chart])


def _skip(ground: Ground, depth: int) -> Way:
    async def page() -> None:
        await ground.mongo["follows"].find(_OF_CELEBRITY).sort(_ORDER).skip(depth).limit(PAGE).to_list()

    return page


def _cursor(ground: Ground, depth: int) -> Way:
    """The followers are numbered by time, so the last one seen has the number `depth - 1`."""

    async def page() -> None:
        after = {**_OF_CELEBRITY, "createdAt": {"$gte": depth}}
        await ground.mongo["follows"].find(after).sort(_ORDER).limit(PAGE).to_list()

    return page


def _median(samples: Samples) -> float:
    return sorted(samples.values)[len(samples.values) // 2]


CLAIM = Claim("cursor", "A cursor reads a deep page as fast as the first one; skip does not", experiment)
