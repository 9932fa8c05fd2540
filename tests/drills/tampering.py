"""`feedstorm drill` with a hand that tampers: a write is lost before the audit, or the fault does nothing.

python -m tests.drills.tampering DRILL_FILE lose-a-post | do-nothing
"""

import asyncio
import os
import sys
from pathlib import Path

import pymongo
from rich.console import Console

from chaos import catalogue
from chaos.faults.kill import Kill
from chaos.live import PlainView
from chaos.session import Request, run_drill
from chaos.stop import stop_on_signals
from compose.stack import Stack
from results.history import LEDGER, LedgerEntry, read_rows


def lose_a_post(stack: Stack, directory: Path) -> None:
    """Remove one acknowledged post from the store, and say which."""
    entries = read_rows(directory / LEDGER, LedgerEntry)
    lost = next(entry.id for entry in entries if entry.kind == "post" and entry.outcome == "ok")
    with pymongo.MongoClient[dict[str, object]](stack.endpoints.mongo_uri, timeoutMS=10_000) as client:
        assert client[stack.endpoints.mongo_database].posts.delete_one({"_id": lost}).deleted_count == 1
    sys.stdout.write(f"removed {lost}\n")


async def main() -> int:
    file, way = sys.argv[1:]
    home = Path(os.environ["FEEDSTORM_HOME"])
    drill = catalogue.find(file)
    if way == "do-nothing":
        Kill.inject = lambda *_: None  # type: ignore[method-assign]  # the fault that does nothing
    request = Request(drill=drill, seed=1, home=home, runs=Path("results") / "runs", command="tampered")
    if way == "lose-a-post":
        request = Request(**{**vars(request), "before_audit": lose_a_post})
    with stop_on_signals() as stop:
        finished = await run_drill(request, PlainView(Console(stderr=True)), stop)
    return finished.verdict.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
