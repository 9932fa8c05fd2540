"""The register of elections, kept in the store that all members share."""

from compose.embedded.mongo import wire
from compose.embedded.mongo.client import StoreClient, StoreLostError
from compose.embedded.mongo.election import Beat, Standing

DATABASE = "replset"  # beside the user's databases, as mongod keeps its own in `local`
_DUPLICATE_KEY = 11000


class StoreRegister:
    """`beats`: one document per member. `terms`: one per term; the unique `_id` lets one member win it."""

    def __init__(self, store: StoreClient) -> None:
        self._store = store

    async def beat(self, member: str, beat: Beat) -> None:
        fields = {"at": beat.at, "ok": beat.ok, "term": beat.term, "frozenUntil": beat.frozen_until}
        update = {"q": {"_id": member}, "u": {"$set": fields}, "upsert": True}
        await self._run({"update": "beats", "updates": [update]})

    async def read(self) -> Standing:
        beats = await self._find({"find": "beats", "limit": 50})
        newest = await self._find({"find": "terms", "sort": {"_id": -1}, "limit": 1})
        return Standing(
            {d["_id"]: Beat(d["at"], d["ok"], d["term"], d["frozenUntil"]) for d in beats},
            newest[0]["_id"] if newest else 0,
            newest[0]["winner"] if newest else None,
        )

    async def claim(self, term: int, member: str) -> bool:
        reply = await self._run({"insert": "terms", "documents": [{"_id": term, "winner": member}]})
        return not any(error["code"] == _DUPLICATE_KEY for error in reply.get("writeErrors", ()))

    async def _find(self, command: wire.Document) -> list[wire.Document]:
        reply = await self._run(command)
        documents: list[wire.Document] = reply["cursor"]["firstBatch"]
        return documents

    async def _run(self, command: wire.Document) -> wire.Document:
        reply = await self._store.ask({**command, "$db": DATABASE})
        if reply.get("ok") != 1.0:
            raise StoreLostError(f"the store refused `{next(iter(command))}`: {reply.get('errmsg')}")
        return reply
