"""What a store is told to do over its own protocol. Every call has a time-out and its own connection."""

import pymongo
import pymongo.errors
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from chaos.errors import CannotInjectError
from compose.stack import Component, Member

_TIMEOUT_S = 3.0
_CATCH_UP_S = 2  # how long a primary may wait for a secondary before it steps down
_NOBODY = ("127.0.0.1", 9)  # the discard port: a master that a replica never finds
_PROBE_KEY = "feedstorm:probe"


def address_of(member: Member, component: Component) -> str:
    """Raises CannotInjectError if the member plays another part, or listens nowhere."""
    if member.component != component or member.address is None:
        raise CannotInjectError(f"{member.name} is not a {component} server that can be told anything")
    return member.address


def step_down(address: str, for_s: float) -> None:
    """The member hands over to another one, and does not stand for election for `for_s` seconds.

    Not forced: a forced one hands over to nobody, and real members then wait a whole election time-out, as if
    the primary had died. The price is that it needs a secondary that has caught up.

    Raises:
        CannotInjectError: it refused, for want of such a secondary for example.
    """
    milliseconds = int(_TIMEOUT_S * 1000)
    stays_down = max(1, int(for_s))
    try:
        with pymongo.MongoClient[dict[str, object]](
            f"mongodb://{address}/",
            directConnection=True,
            serverSelectionTimeoutMS=milliseconds,
            connectTimeoutMS=milliseconds,
            socketTimeoutMS=milliseconds,
        ) as client:
            client.admin.command(
                "replSetStepDown", stays_down, secondaryCatchUpPeriodSecs=min(_CATCH_UP_S, stays_down)
            )
    except pymongo.errors.AutoReconnect:
        pass  # a primary that steps down may close its connections before it answers
    except pymongo.errors.OperationFailure as error:
        said = (error.details or {}).get("errmsg", str(error))  # `str` has the whole answer in it
        raise CannotInjectError(
            f"step-down: the member at {address} refused: {said} (it hands over only to a secondary that has "
            "caught up)"
        ) from error
    except pymongo.errors.PyMongoError as error:
        raise CannotInjectError(f"step-down: the member at {address} did not answer: {error}") from error


def _redis(address: str) -> redis.Redis:
    host, _, port = address.rpartition(":")
    return redis.Redis(
        host=host,
        port=int(port),
        socket_timeout=_TIMEOUT_S,
        socket_connect_timeout=_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


def flush(address: str) -> None:
    with _redis(address) as client:
        client.flushall()


def key_count(address: str) -> int:
    with _redis(address) as client:
        return int(client.dbsize())


def refuse_writes(address: str) -> None:
    """Make it the replica of a master that is nowhere: it keeps its data, answers reads, refuses writes."""
    with _redis(address) as client:
        client.execute_command("REPLICAOF", _NOBODY[0], str(_NOBODY[1]))


def accept_writes(address: str) -> None:
    with _redis(address) as client:
        client.execute_command("REPLICAOF", "NO", "ONE")


def accepts_writes(address: str) -> bool:
    with _redis(address) as client:
        try:
            client.set(_PROBE_KEY, 1, px=1000)
        except redis.ReadOnlyError:
            return False
    return True
