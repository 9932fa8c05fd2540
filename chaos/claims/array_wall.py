"""Followers embedded in the user's document: every follow gets dearer, and at 16 MB it ends."""

from pymongo.errors import DocumentTooLarge, WriteError

from chaos.claims.evidence import Chart, Check, Claim, Comparison, Evidence, Line, Rate, Samples
from chaos.claims.ground import Ground
from chaos.claims.timing import clock

WALL_BYTES = 16 * 1024 * 1024
FEW, MANY = 100, 4000
_SIZES = (FEW, 1000, MANY)
_ROUNDS = 7
_TOO_LARGE = 10334
_BEYOND = 20_000
"""Followers added in one step at the wall: certainly more than there is room for."""


def array_bytes(followers: int, id_bytes: int = 36) -> int:
    """Size of a BSON array of that many ids: each costs its type, its index as text, and a string."""
    digits = sum(digits * _indexes_of(digits, followers) for digits in range(1, 9))
    return 5 + followers * (1 + 1 + 4 + id_bytes + 1) + digits


def _indexes_of(digits: int, count: int) -> int:
    """How many of the indexes 0 .. count-1 are written with so many digits."""
    first = 0 if digits == 1 else int(10 ** (digits - 1))
    return max(0, min(count, int(10**digits)) - first)


def followers_that_fit(room_bytes: int = WALL_BYTES, id_bytes: int = 36) -> int:
    """The greatest array of ids that fits into a document of that size."""
    low, high = 0, room_bytes
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if array_bytes(middle, id_bytes) <= room_bytes else (low, middle - 1)
    return low


async def experiment(ground: Ground) -> Evidence:
    pushes = {size: await _pushes(ground, size) for size in _SIZES}
    inserts = {size: await _inserts(ground, size) for size in _SIZES}
    push = {size: Samples(f"push onto {size:,}", "s", values) for size, values in pushes.items()}
    comparisons = [
        Comparison("a follow is dearer the more followers there are", push[FEW], push[MANY]),
        Comparison(
            f"with {MANY:,} followers, embedding is dearer than a document of its own",
            Samples("own document", "s", inserts[MANY]),
            push[MANY],
        ),
    ]
    sizes = [float(size) for size in _SIZES]
    chart = Chart(
        "What one more follower costs",
        "followers so far",
        "seconds (median)",
        [
            Line("embedded array", sizes, [_median(pushes[size]) for size in _SIZES]),
            Line("one document each", sizes, [_median(inserts[size]) for size in _SIZES]),
        ],
    )
    return Evidence(
        comparisons=comparisons,
        checks=[await _hit_the_wall(ground)],
        charts=[chart],
        rates={
            "embedded_follow_s_per_follower": Rate(
                (_median(pushes[MANY]) - _median(pushes[FEW])) / (MANY - FEW), "s"
            )
        },
    )


async def _pushes(ground: Ground, size: int) -> list[float]:
    users = ground.mongo["users"]
    await users.insert_one({"_id": size, "followers": [ground.uuid() for _ in range(size)]})

    async def push() -> None:
        await users.update_one({"_id": size}, {"$push": {"followers": ground.uuid()}})

    await push()
    return [await clock(push) for _ in range(_ROUNDS)]


async def _inserts(ground: Ground, size: int) -> list[float]:
    """One more document in `follows` when there are `size`: the collection grows as the array did."""
    follows = ground.mongo["follows"]
    await ground.followers(size - await follows.estimated_document_count())

    async def insert() -> None:
        await follows.insert_one(ground.follow(size, "celebrity"))

    await insert()
    return [await clock(insert) for _ in range(_ROUNDS)]


async def _hit_the_wall(ground: Ground) -> Check:
    users = ground.mongo["users"]
    room = followers_that_fit() - 100  # the document has a name and an id as well
    await users.insert_one({"_id": "full", "followers": [ground.uuid() for _ in range(room)]})
    more = {"$each": [ground.uuid() for _ in range(_BEYOND)]}
    try:
        await users.update_one({"_id": "full"}, {"$push": {"followers": more}})
    except (WriteError, DocumentTooLarge) as error:
        refused = isinstance(error, DocumentTooLarge) or error.code == _TOO_LARGE
        return Check(f"the array ends at {room:,} followers: the next ones are refused", refused or None)
    return Check(f"{room + _BEYOND:,} followers in one array were accepted", False)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


CLAIM = Claim(
    "array-wall",
    "An embedded array of followers makes every follow dearer and ends at 16 MB",
    experiment,
    within_s=45.0,
)
