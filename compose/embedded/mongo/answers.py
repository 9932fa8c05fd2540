"""The commands that a member answers itself, and which of the others it may hand to the store."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from bson import Int64

from compose.embedded.mongo import wire
from compose.embedded.mongo.member import SET_NAME, Member

HELLO = frozenset({"hello", "isMaster", "ismaster"})

# What any member hands to the store, whatever its role ...
_ALWAYS = frozenset(
    [
        "ping",
        "buildInfo",
        "buildinfo",
        "serverStatus",
        "getParameter",
        "connectionStatus",
        "whatsmyuri",
        "getLog",
        "hostInfo",
        "currentOp",
        "killOp",
        "getCmdLineOpts",
        "top",
        "endSessions",
        "refreshSessions",
        "startSession",
        "killSessions",
        "killCursors",
        "getMore",
        "saslStart",
        "saslContinue",
        "logout",
        "features",
        "listCommands",
    ]
)
# ... and what a secondary hands on too, where the read preference allows it. All else: the primary only.
_READS = frozenset(
    [
        "find",
        "aggregate",
        "count",
        "distinct",
        "listCollections",
        "listIndexes",
        "listDatabases",
        "dbStats",
        "dbstats",
        "collStats",
        "collstats",
        "explain",
        "dataSize",
        "validate",
    ]
)


def is_about_topology(name: str) -> bool:
    return name in HELLO or name.startswith("replSet")


def refusal(member: Member, name: str, command: wire.Document) -> wire.Document | None:
    """Why this member may not hand `command` to the store in its role; None if it may."""
    if member.is_primary or name in _ALWAYS:
        return None
    if name not in _READS:
        return not_primary(member, command)
    if command.get("$readPreference", {}).get("mode", "primary") == "primary":
        message = "not primary and secondaryOk=false"
        return not_primary(member, command, 13435, "NotPrimaryNoSecondaryOk", message)
    return None


def not_primary(
    member: Member,
    command: wire.Document,
    code: int = 10107,
    code_name: str = "NotWritablePrimary",
    message: str = "not primary",
) -> wire.Document:
    """The refusal that makes a driver look for the primary, and try again where it is safe to.

    Drivers believe it only with a `topologyVersion`, and repeat only what the server has labelled.
    """
    reply = error(code, code_name, message) | {"topologyVersion": member.topology_version()}
    ends_transaction = "commitTransaction" in command or "abortTransaction" in command
    if command.get("autocommit") is False and not ends_transaction:
        reply["errorLabels"] = ["TransientTransactionError"]
    elif "txnNumber" in command:
        reply["errorLabels"] = ["RetryableWriteError"]
    return reply


def error(code: int, code_name: str, message: str) -> wire.Document:
    return {"ok": 0.0, "errmsg": message, "code": code, "codeName": code_name}


async def answer(member: Member, name: str, command: wire.Document) -> wire.Document:
    """The reply to a `replSet...` command."""
    if name in _REPLICA_SET:
        return await _REPLICA_SET[name](member, command)
    return error(59, "CommandNotFound", f"no such command: '{name}'")


async def _status(member: Member, _command: wire.Document) -> wire.Document:
    await member.election.look()
    members = []
    for number, name in enumerate(member.members):
        is_up = name == member.advertised or member.election.is_up(name)
        state = (8, "(not reachable/healthy)")
        if is_up:
            state = (1, "PRIMARY") if name == member.primary else (2, "SECONDARY")
        members.append(
            {
                "_id": number,
                "name": name,
                "health": float(is_up),
                "state": state[0],
                "stateStr": state[1],
                "self": name == member.advertised,
            }
        )
    return {
        "set": SET_NAME,
        "date": datetime.now(UTC),
        "myState": 1 if member.is_primary else 2,
        "term": Int64(member.election.standing.term),
        "heartbeatIntervalMillis": Int64(round(member.heartbeat_s * 1000)),
        "majorityVoteCount": len(members) // 2 + 1,
        "votingMembersCount": len(members),
        "members": members,
        "ok": 1.0,
    }


async def _config(member: Member, _command: wire.Document) -> wire.Document:
    config = {
        "_id": SET_NAME,
        "version": 1,
        "term": Int64(member.election.standing.term),
        "members": [
            {"_id": number, "host": name, "priority": 1.0, "votes": 1}
            for number, name in enumerate(member.members)
        ],
        "settings": {"electionTimeoutMillis": round(member.election.timeout_s * 1000)},
    }
    return {"config": config, "ok": 1.0}


async def _initiate(_member: Member, _command: wire.Document) -> wire.Document:
    return error(23, "AlreadyInitialized", "already initialized")


async def _step_down(member: Member, command: wire.Document) -> wire.Document:
    if not member.is_primary:
        return not_primary(member, command, message="not primary so can't step down")
    forced = bool(command.get("force"))
    for_s = _seconds(command.get("replSetStepDown"), default=60.0)
    catch_up_s = _seconds(command.get("secondaryCatchUpPeriodSecs"), default=0.0 if forced else 10.0)
    if for_s < catch_up_s:
        return error(2, "BadValue", "stepdown period must be longer than secondaryCatchUpPeriodSecs")
    await member.election.look()
    others = [name for name in member.members if name != member.advertised]
    if not forced and not any(map(member.election.can_be_elected, others)):
        return error(262, "ExceededTimeLimit", "No electable secondaries caught up")
    await member.step_down(for_s)
    return {"ok": 1.0}


async def _freeze(member: Member, command: wire.Document) -> wire.Document:
    member.election.freeze(_seconds(command.get("replSetFreeze"), default=0.0))
    return {"ok": 1.0}


def _seconds(value: object, *, default: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else default  # type: ignore[arg-type] # it is a number here


_REPLICA_SET: dict[str, Callable[[Member, wire.Document], Awaitable[wire.Document]]] = {
    "replSetGetStatus": _status,
    "replSetGetConfig": _config,
    "replSetInitiate": _initiate,
    "replSetStepDown": _step_down,
    "replSetFreeze": _freeze,
}
