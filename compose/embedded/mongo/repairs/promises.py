"""What a write concern promises holds."""

from collections.abc import Mapping
from typing import Any

import secantus.commands
import secantus.server
import secantus.storage
import secantus.transactions

REPLICA_SET_MEMBERS = 3
Json = Mapping[str, Any]  # commands, as SecantusDB's own code has them


def acknowledged_writes_survive_a_kill() -> None:
    """Stock: a commit stays in WiredTiger's own buffer, so SIGKILL loses acknowledged majority writes.

    Shows as the newest 40 ms or so of writes missing after a kill. Repaired: each commit hands its log
    record to the operating system. Nothing is synced to the disk: a power cut may still lose writes.
    """
    stock, repaired = (
        "transaction_sync=(enabled=false,method=fsync)",
        "transaction_sync=(enabled=true,method=none)",
    )
    open_database = secantus.storage.wt.wiredtiger_open

    def open_with_write_through(home: str, config: str) -> Any:
        return open_database(home, config.replace(stock, repaired))

    secantus.storage.wt.wiredtiger_open = open_with_write_through


def write_concerns_count_three_members() -> None:
    """Stock: `w: 2` and `w: 3` are answered with UnsatisfiableWriteConcern, since the store is one node.

    Repaired: they are met, as all three members read what the store has.
    """
    complaint = secantus.commands._unsatisfiable_wc_error

    def complaint_of_three(command: Json) -> Any:
        concern = command.get("writeConcern")
        w = concern.get("w") if isinstance(concern, Mapping) else None
        is_met = isinstance(w, int) and not isinstance(w, bool) and w <= REPLICA_SET_MEMBERS
        return None if is_met else complaint(command)

    secantus.commands._unsatisfiable_wc_error = complaint_of_three
