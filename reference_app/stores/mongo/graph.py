"""Users and relationships in MongoDB: one document for each relationship that ever was."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from pymongo import ReturnDocument, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import DuplicateKeyError

from reference_app.clock import utc
from reference_app.domain.celebrity import Threshold
from reference_app.domain.cursors import Position
from reference_app.domain.ids import follower_of, pair_id
from reference_app.domain.model import Edge, Relation, User
from reference_app.stores.mongo.documents import (
    ACTIVE,
    REMOVED,
    ms_of,
    relation_of,
    status,
    user_document,
    user_of,
)
from reference_app.stores.mongo.link import MongoLink
from reference_app.stores.mongo.pages import direction, past
from reference_app.stores.mongo.schema import Document
from reference_app.stores.ports import Order, Side

FOLLOWER_PAGE: Final = 1000
_IDS_AT_ONCE: Final = 500


class MongoGraph:
    """Implements `GraphStore`."""

    def __init__(self, link: MongoLink) -> None:
        self._link = link
        self._users, self._follows = link.db["users"], link.db["follows"]
        self._near_users = link.primary_preferred["users"]
        self._near_follows = link.primary_preferred["follows"]
        self._any_follows = link.secondary_preferred["follows"]

    def primary(self) -> str | None:
        return self._link.primary()

    async def add_user(self, user: User) -> User:
        found = await self._link.insert(self._users, user_document(user))
        return user_of(found) if found else user

    async def users(self, ids: Sequence[str]) -> list[User]:
        found = await self._link.read(self._near_users.find({"_id": {"$in": list(ids)}}).to_list())
        by_id = {document["_id"]: user_of(document) for document in found}
        return [by_id[user_id] for user_id in dict.fromkeys(ids) if user_id in by_id]

    async def set_following(
        self, follower: str, followee: str, *, active: bool, now_ms: int
    ) -> Relation | None:
        """The filter lets a change through and nothing else. A first following is an upsert: if the
        relationship is active already, the filter misses it, and the insert finds its `_id` taken. One
        command changes it and says how it is now: a second one might fail, after the change was made."""
        key, now = pair_id(follower, followee), utc(now_ms)
        change: Document = {
            "$set": {"status": status(active), "updatedAt": now, "feedOwed": True, "countOwed": True},
            "$inc": {"rev": 1},
        }
        if active:
            change["$set"]["createdAt"] = now
            change["$setOnInsert"] = {"followeeId": followee, "counted": False}
        here = {"_id": key, "followerId": follower, "status": status(not active)}
        changing = self._follows.find_one_and_update(
            here, change, upsert=active, return_document=ReturnDocument.AFTER
        )
        try:
            found = await self._link.write(changing)
        except DuplicateKeyError:
            return None
        return relation_of(found) if found else None

    async def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        keys = [pair_id(*pair) for pair in pairs]
        followers = list(dict.fromkeys(follower for follower, _ in pairs))
        query = {"_id": {"$in": keys}, "followerId": {"$in": followers}}
        found = await self._link.read(self._near_follows.find(query).to_list())
        return [relation_of(document) for document in found]

    async def edges(
        self, user: str, side: Side, *, after: Position | None, order: Order, limit: int
    ) -> list[Edge]:
        mine, other = ("followeeId", "followerId") if side is Side.FOLLOWERS else ("followerId", "followeeId")
        newest_first = order is Order.NEWEST
        query: Document = {mine: user, "status": ACTIVE}
        if after is not None:
            pair = (after.id, user) if side is Side.FOLLOWERS else (user, after.id)
            query |= past("createdAt", "_id", after.ms, pair_id(*pair), newest_first=newest_first)
        way = direction(newest_first)
        cursor = self._near_follows.find(query, {"_id": 0, other: 1, "createdAt": 1})
        found = await self._link.read(cursor.sort([("createdAt", way), ("_id", way)]).limit(limit).to_list())
        return [Edge(document[other], ms_of(document["createdAt"])) for document in found]

    async def follower_pages(self, author: str) -> AsyncIterator[list[str]]:
        query: Document = {"followeeId": author, "status": ACTIVE}
        while True:
            cursor = self._follows.find(query, {"createdAt": 1}).sort([("createdAt", 1), ("_id", 1)])
            found = await self._link.read(cursor.limit(FOLLOWER_PAGE).to_list())
            if found:
                yield [follower_of(document["_id"]) for document in found]
            if len(found) < FOLLOWER_PAGE:
                return
            last = found[-1]
            query |= past("createdAt", "_id", ms_of(last["createdAt"]), last["_id"], newest_first=False)

    async def unfollowed_since(self, author: str, since_ms: int) -> list[str]:
        query = {"followeeId": author, "status": REMOVED, "updatedAt": {"$gte": utc(since_ms)}}
        found = await self._link.read(self._follows.find(query, {"_id": 0, "followerId": 1}).to_list())
        return [document["followerId"] for document in found]

    async def followees(self, user: str, *, limit: int) -> list[str]:
        cursor = self._near_follows.find(
            {"followerId": user, "status": ACTIVE}, {"_id": 0, "followeeId": 1, "createdAt": 1}
        )
        newest = cursor.sort([("createdAt", -1), ("_id", -1)]).limit(limit)
        return [document["followeeId"] for document in await self._link.read(newest.to_list())]

    async def pulled_among(self, ids: Sequence[str]) -> list[str]:
        pulled: list[str] = []
        for start in range(0, len(ids), _IDS_AT_ONCE):
            query = {"_id": {"$in": list(ids[start : start + _IDS_AT_ONCE])}, "pulled": True}
            found = await self._link.read(self._near_users.find(query, {"_id": 1}).to_list())
            pulled += [document["_id"] for document in found]
        return pulled

    async def feed_owed(self, *, before_ms: int, limit: int) -> list[Relation]:
        query = {"feedOwed": True, "updatedAt": {"$lt": utc(before_ms)}}
        found = await self._link.read(self._follows.find(query).limit(limit).to_list())
        return [relation_of(document) for document in found]

    async def feed_paid(self, relation: Relation) -> bool:
        key = pair_id(relation.follower_id, relation.followee_id)
        still = {"_id": key, "followerId": relation.follower_id, "rev": relation.rev}
        result = await self._link.write(self._follows.update_one(still, {"$unset": {"feedOwed": ""}}))
        return result.matched_count == 1

    async def settle_counts(self, *, before_ms: int, limit: int) -> int:
        """What changed a moment ago is still worked on: a transaction that touched it would be undone."""
        query = {"countOwed": True, "updatedAt": {"$lt": utc(before_ms)}}
        if not await self._link.read(self._follows.find_one(query, {"_id": 1})):
            return 0

        async def settle(session: AsyncClientSession) -> int:
            owed = await self._follows.find(query, session=session).limit(limit).to_list()
            if owed:
                await self._follows.bulk_write(list(map(_counted, owed)), ordered=False, session=session)
            if counts := _count_changes(owed):
                await self._users.bulk_write(counts, ordered=False, session=session)
            return len(owed)

        return await self._link.transaction(settle)

    async def miscast(self, threshold: Threshold, *, limit: int) -> list[User]:
        too_low = {"isCelebrity": False, "followerCount": {"$gte": threshold.promote_at}}
        too_high = {"isCelebrity": True, "followerCount": {"$lt": threshold.demote_below}}
        found = [
            document
            for query in (too_low, too_high)
            for document in await self._link.read(self._users.find(query).limit(limit).to_list())
        ]
        return list(map(user_of, found))

    async def set_pulled(self, author: str) -> None:
        await self._link.write(self._users.update_one({"_id": author}, {"$set": {"pulled": True}}))

    async def set_celebrity(self, author: str, *, is_celebrity: bool) -> None:
        await self._link.write(
            self._users.update_one({"_id": author}, {"$set": {"isCelebrity": is_celebrity}})
        )


def _counted(document: Document) -> UpdateOne:
    """The relationship is counted as it is now. `counted` is what the counters of both users include."""
    active = document["status"] == ACTIVE
    mine = {"_id": document["_id"], "followerId": document["followerId"]}
    return UpdateOne(mine, {"$set": {"counted": active}, "$unset": {"countOwed": ""}})


def _count_changes(owed: list[Document]) -> list[UpdateOne]:
    followers: dict[str, int] = {}
    following: dict[str, int] = {}
    for document in owed:
        step = int(document["status"] == ACTIVE) - int(document.get("counted", False))
        followers[document["followeeId"]] = followers.get(document["followeeId"], 0) + step
        following[document["followerId"]] = following.get(document["followerId"], 0) + step
    return [
        UpdateOne({"_id": user}, {"$inc": {"followerCount": more, "followingCount": also}})
        for user in followers | following
        if (more := followers.get(user, 0)) | (also := following.get(user, 0))
    ]
