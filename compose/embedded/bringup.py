"""Bringing the members of a stack up, in order, as much at once as can be."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import msgspec

from compose import ready
from compose.embedded.control import started
from compose.embedded.mongo.client import ask_once
from compose.embedded.plan import SET_NAME
from compose.embedded.state import MemberRecord, StackFile, StackRecord
from compose.stack import Component, StackError, State
from compose.waiting import NeverHappenedError, wait_until

SERVICES_WITHIN_S = 120.0
INIT_WITHIN_S = 120.0
APP_WITHIN_S = 120.0
PROBE_EVERY_S = 0.1
LOG_LINE_CHARS = 300
LOG_LINES = 10  # looked at for why a member ended
APP_COMPONENTS = (Component.API, Component.WORKER)
PORT_TAKEN = "ddress already in use"


class PortTakenError(StackError):
    """Somebody took a port between the moment it was found free and the moment a member bound it."""


def prepare_home(home: Path, record: StackRecord) -> None:
    """Fresh directories for logs and data. What an earlier stack left is deleted."""
    for name in ("data", "logs"):
        shutil.rmtree(home / name, ignore_errors=True)
        (home / name).mkdir(parents=True)
    for member in record.members:
        if member.component in (Component.MONGO, Component.STORE):
            (home / "data" / member.name).mkdir()
    proxies = [
        {"name": link.name, "listen": link.listen, "upstream": link.upstream, "enabled": True}
        for link in record.links
    ]
    (home / "data" / "proxies.json").write_bytes(msgspec.json.encode(proxies))


async def bring_up(file: StackFile, record: StackRecord) -> None:
    """Start every member of a stack whose record is on disk, and wait until all of it does its work.

    Raises:
        StackError: naming the part, what was waited for, and the last line of its log.
        PortTakenError: the same stack with other ports may well come up.
    """
    apps = [member for member in record.members if member.component in APP_COMPONENTS]
    services = [member for member in record.members if member not in apps]
    for member in services:
        _start(file, record, member)
    has_real_mongo = not any(member.component is Component.STORE for member in services)
    if has_real_mongo:
        await _initiate_replica_set(file, record)
    await await_ready(file, services, SERVICES_WITHIN_S)
    await await_primary(record, SERVICES_WITHIN_S)
    if apps:
        await _run_init(file, record)
        for member in apps:
            _start(file, record, member)
        await await_ready(file, apps, APP_WITHIN_S)


async def await_ready(
    file: StackFile, members: list[MemberRecord], within_s: float, *, may_be_down: bool = False
) -> None:
    """Wait until all of `members` do their work. With `may_be_down`, one that is down may yet be started."""
    tasks = [
        asyncio.create_task(_await_one(file, member, within_s, may_be_down=may_be_down)) for member in members
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def await_primary(record: StackRecord, within_s: float) -> None:
    mongo = [member for member in record.members if member.component is Component.MONGO]

    async def somebody_is() -> bool:
        asked = (asyncio.to_thread(ready.says_primary, member.address) for member in mongo)
        return any(await asyncio.gather(*asked))

    try:
        await wait_until(somebody_is, "one of the Mongo members becoming primary", within_s=within_s)
    except NeverHappenedError as error:
        raise failure(str(error), Path(mongo[0].log)) from error


def failure(what: str, log: Path) -> StackError:
    """One sentence with the last line of the log, and where to read on."""
    lines = _last_lines(log)
    kind = PortTakenError if any(PORT_TAKEN in line for line in lines) else StackError
    return kind(f"{what}; {log} {f'ends with: {lines[-1]}' if lines else 'is empty'}")


async def _await_one(file: StackFile, member: MemberRecord, within_s: float, *, may_be_down: bool) -> None:
    log = Path(member.log)

    async def outcome() -> str:
        if not may_be_down and _state(file, member) is State.DOWN:
            return "ended"
        return "ready" if await asyncio.to_thread(ready.probe, member.component, member.address) else ""

    try:
        what = f"{member.name} becoming ready"
        seen = await wait_until(outcome, what, within_s=within_s, every_s=PROBE_EVERY_S)
    except NeverHappenedError as error:
        raise failure(str(error), log) from error
    if seen == "ended":
        raise failure(f"{member.name} ended right after its start", log)


def _state(file: StackFile, member: MemberRecord) -> State:
    record = file.read()
    current = record.member(member.name) if record else None
    return current.state if current else State.DOWN


def _start(file: StackFile, record: StackRecord, member: MemberRecord) -> None:
    with file.locked() as current:
        if current is None or current.closing or current.id != record.id:
            raise StackError("the stack was taken down while it was being brought up")
        file.write(current.with_member(started(member)))


async def _initiate_replica_set(file: StackFile, record: StackRecord) -> None:
    """Make real mongods a replica set, once they answer. Their addresses are those that clients use."""
    members = [member for member in record.members if member.component is Component.MONGO]
    proxies = [member for member in record.members if member.component is Component.PROXY]
    await await_ready(file, proxies, SERVICES_WITHIN_S)  # mongod looks for itself under its public address
    addresses = record.mongo_addresses
    config = {
        "_id": SET_NAME,
        "members": [{"_id": number, "host": address} for number, address in enumerate(addresses)],
        "settings": {"electionTimeoutMillis": round(record.options.election_timeout_s * 1000)},
    }

    async def initiated() -> bool:
        reply = await asyncio.to_thread(
            ask_once, members[0].address, {"replSetInitiate": config}, within_s=10.0
        )
        if reply["ok"] != 1.0 and reply.get("codeName") != "AlreadyInitialized":
            raise StackError(str(reply.get("errmsg")))
        return True

    try:
        await wait_until(initiated, "making the replica set", within_s=SERVICES_WITHIN_S, every_s=0.5)
    except NeverHappenedError as error:
        raise failure(str(error), Path(members[0].log)) from error


async def _run_init(file: StackFile, record: StackRecord) -> None:
    """Indexes and topics, by the application itself."""
    log = file.home / "logs" / "init.log"
    module = record.options.app_module
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, "init",
            stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output,
            env={**os.environ, **record.app_env}, cwd=record.cwd, start_new_session=True,
        )  # fmt: skip
    try:
        code = await asyncio.wait_for(process.wait(), INIT_WITHIN_S)
    except TimeoutError:
        raise failure(f"`{module} init` did not end within {INIT_WITHIN_S:g} s", log) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise failure(f"`{module} init` ended with status {code}", log)


def _last_lines(log: Path) -> list[str]:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return []
    return [line.strip()[:LOG_LINE_CHARS] for line in lines[-LOG_LINES:]]
