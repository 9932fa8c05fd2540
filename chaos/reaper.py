"""The reaper: heals what its runner cannot heal any more. A process of its own.

    python -m chaos.reaper HOME RUNNER_PID RUNNER_STARTED

Started detached beside every run, before the first fault. Twice a second it looks for leases that
are past their deadline or whose owner is gone, and heals them. It ends when the runner is gone and
no lease is left; what it cannot heal it tries again for a while, and then leaves to `feedstorm heal`.
"""

import signal
import sys
import time
from pathlib import Path

from chaos.healing import heal
from chaos.leases import Lease, LeaseBook, Owner
from chaos.stacks import arm, attach
from compose.embedded.processes import Process, send, spawn

_EVERY_S = 0.5
_GIVES_UP_AFTER_S = 120.0


def start(home: Path) -> Process:
    """Start a reaper for this process, in a session of its own so that no Ctrl-C reaches it."""
    runner = Owner.this_process()
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    command = (sys.executable, "-m", "chaos.reaper", str(home), str(runner.pid), repr(runner.started))
    return spawn(command, env={}, cwd=Path.cwd(), log=logs / "reaper.log")


def dismiss(reaper: Process) -> None:
    """End a reaper whose runner has healed everything by itself."""
    send(reaper, signal.SIGTERM)


def watch(home: Path, runner: Owner) -> None:
    """Heal until the runner is gone and nothing is left to heal, or healing has failed for too long."""
    book = LeaseBook(home)
    gone_since: float | None = None
    while True:
        if gone_since is None and not runner.is_alive():
            gone_since = time.monotonic()
        heal_overdue(home, book)
        if gone_since is not None:
            if not book.all():
                return
            if time.monotonic() - gone_since > _GIVES_UP_AFTER_S:
                _say("giving up; `feedstorm heal` can try again")
                return
        time.sleep(_EVERY_S)


def heal_overdue(home: Path, book: LeaseBook) -> None:
    """Heal every lease that nobody else will, all of one reason in one go."""
    overdue: dict[str, list[Lease]] = {}
    for lease in book.all():
        if why := lease.why_overdue():
            overdue.setdefault(why, []).append(lease)
    for why, leases in overdue.items():
        try:  # whatever is the matter with one stack or one lease, the reaper stays
            stack = attach(home)
            arsenal = arm(stack, home) if stack is not None else None
            healings = heal(leases, arsenal, book, why=f"by the reaper: {why}")
        except Exception as error:  # the reaper is the last to go: it notes the failure and tries again
            _say(f"could not heal {', '.join(lease.id for lease in leases)}: {error}")
            continue
        for healing in healings:
            _say(f"{healing.lease.id} on {healing.target}: {healing.stage} ({healing.detail}); {why}")


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)  # noqa: T201 - its log is its standard output


def main() -> None:
    for stop in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(stop, signal.SIG_IGN)
    home, pid, started = sys.argv[1:]
    watch(Path(home), Owner(int(pid), float(started)))


if __name__ == "__main__":
    main()
