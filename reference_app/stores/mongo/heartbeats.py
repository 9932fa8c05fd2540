"""Signs of life in MongoDB."""

from reference_app.stores.mongo.link import MongoLink


class MongoHeartbeats:
    """Implements `Heartbeats`."""

    def __init__(self, link: MongoLink) -> None:
        self._link, self._beats = link, link.db["heartbeats"]

    async def beat(self, name: str, now_ms: int) -> None:
        await self._link.write(self._beats.update_one({"_id": name}, {"$set": {"at": now_ms}}, upsert=True))

    async def last(self, name: str) -> int | None:
        found = await self._link.read(self._beats.find_one({"_id": name}))
        return int(found["at"]) if found else None
