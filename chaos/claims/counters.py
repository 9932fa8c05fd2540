"""A follower count that is kept beats one that is counted."""

from chaos.claims.evidence import Claim, Comparison, Evidence
from chaos.claims.ground import Ground
from chaos.claims.timing import take_turns

FOLLOWERS = 2000


async def experiment(ground: Ground) -> Evidence:
    await ground.followers(FOLLOWERS)
    users, follows = ground.mongo["users"], ground.mongo["follows"]
    await users.insert_one({"_id": "celebrity", "followerCount": FOLLOWERS})

    async def counter() -> None:
        await users.find_one({"_id": "celebrity"}, {"followerCount": 1})

    async def count() -> None:
        await follows.count_documents({"followeeId": "celebrity", "status": "active"})

    samples = await take_turns({"counter": counter, "counting": count})
    what = f"reading the count of {FOLLOWERS:,} followers"
    return Evidence(comparisons=[Comparison(what, samples["counter"], samples["counting"])])


CLAIM = Claim("counters", "A counter on the user is cheaper to read than counting documents", experiment)
