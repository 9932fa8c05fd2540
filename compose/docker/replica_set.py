"""Making a replica set of Mongo servers that were started with `--replSet`, once and only once."""

from pymongo import MongoClient
from pymongo.errors import OperationFailure

from compose.waiting import wait_until

_NOT_YET_INITIALIZED, _ALREADY_INITIALIZED = 94, 23
_ASK_MS = 3000

Document = dict[str, object]


def config(
    name: str, hosts: list[str], *, election_timeout_s: float = 10.0, configsvr: bool = False
) -> Document:
    """The document for `replSetInitiate`. `hosts` (`"name:port"`) are as members and clients know them."""
    document: Document = {
        "_id": name,
        "members": [{"_id": number, "host": host} for number, host in enumerate(hosts)],
        "settings": {"electionTimeoutMillis": round(election_timeout_s * 1000)},
    }
    if configsvr:
        document["configsvr"] = True
    return document


def direct(host: str) -> MongoClient[Document]:
    """A client of that one server, whatever its role."""
    return MongoClient(
        f"mongodb://{host}/",
        directConnection=True,
        serverSelectionTimeoutMS=_ASK_MS,
        connectTimeoutMS=_ASK_MS,
        socketTimeoutMS=10 * _ASK_MS,
    )


def is_router(host: str) -> bool:
    """Whether a `mongos` answers there."""
    with direct(host) as client:
        return client.admin.command("hello").get("msg") == "isdbgrid"


def initiate(host: str, document: Document) -> bool:
    """Initiate the set through one of its members. False: it was initiated before.

    Raises:
        PyMongoError: it is not there yet, or refuses the configuration.
    """
    with direct(host) as client:
        try:
            client.admin.command("replSetGetStatus")
            return False
        except OperationFailure as error:
            if error.code != _NOT_YET_INITIALIZED:
                raise
        try:
            client.admin.command("replSetInitiate", document)
        except OperationFailure as error:
            if error.code != _ALREADY_INITIALIZED:
                raise
            return False
        return True


async def make(host: str, document: Document, *, within_s: float = 60.0) -> None:
    """Initiate the set and wait until one member is primary. Safe to repeat.

    Raises:
        NeverHappenedError: no member answered, or none became primary, `within_s` seconds long.
    """
    name, hosts = document["_id"], _hosts(document)
    await wait_until(
        lambda: (initiate(host, document), True), f"initiating {name} at {host}", within_s=within_s
    )
    await wait_until(
        lambda: any(map(_is_primary, hosts)), f"a primary of {name}", within_s=within_s, every_s=0.2
    )


def _hosts(document: Document) -> list[str]:
    members = document["members"]
    assert isinstance(members, list)
    return [str(member["host"]) for member in members]


def _is_primary(host: str) -> bool:
    with direct(host) as client:
        return bool(client.admin.command("hello").get("isWritablePrimary"))
