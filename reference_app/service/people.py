"""Who exists, and who is a celebrity: remembered for a moment, since nobody is ever deleted."""

from collections.abc import Sequence

from reference_app.clock import now_ms
from reference_app.domain.ids import id_for
from reference_app.domain.model import User
from reference_app.errors import ConflictError, NotFoundError, UnauthorizedError
from reference_app.service.coalesce import LocalCache
from reference_app.stores.bundle import Stores


class People:
    def __init__(self, stores: Stores, *, ttl_s: float) -> None:
        self._stores = stores
        self._known: LocalCache[str, User | None] = LocalCache(self._fetch, ttl_s=ttl_s)

    async def _fetch(self, user_id: str) -> User | None:
        found = await self._stores.graph.users([user_id])
        return found[0] if found else None

    async def add(self, name: str, *, user_id: str | None, caller: str, key: str | None) -> User:
        """Raises ConflictError if the id is somebody else's."""
        wanted = User(user_id or id_for("user", caller, key), name, now_ms())
        user = await self._stores.graph.add_user(wanted)
        self.forget(user.id)
        if user.name != name:
            raise ConflictError("This id belongs to a user of another name.", field="id")
        return user

    async def caller(self, user_id: str) -> User:
        """Raises UnauthorizedError if there is no such user."""
        user = await self._known.get(user_id)
        if user is None:
            self.forget(user_id)
            raise UnauthorizedError("X-User-Id names no user.", field="X-User-Id")
        return user

    async def must_exist(self, named: Sequence[tuple[str, str]]) -> None:
        """(field, id) each. Raises NotFoundError for the first that does not exist."""
        for field, user_id in named:
            if await self._known.get(user_id) is None:
                self.forget(user_id)
                raise NotFoundError(f"There is no user {user_id}.", field=field)

    def forget(self, user_id: str) -> None:
        self._known.forget(user_id)
