"""A runner in a process of its own: holds one fault until it is stopped in one of eight ways.

    python -m tests.integration.chaos.by_hand_process HOME FAULT ROLE OPTIONS_JSON [raise]

Prints `in force` once the fault is; with `raise` it then fails with an exception of its own.
"""

import asyncio
import json
import sys
from pathlib import Path

from rich.console import Console

from chaos.by_hand import Wish, hold
from chaos.errors import InterruptedRunError
from chaos.faults import make
from chaos.live import PlainView
from chaos.stacks import attach
from chaos.stop import stop_on_signals

HELD_FOR_S = 60.0


async def main() -> None:
    home, fault, role, options, *way = sys.argv[1:]
    stack = attach(Path(home))
    assert stack is not None
    with stop_on_signals() as stop:

        async def meanwhile() -> None:
            print("in force", flush=True)  # noqa: T201 - the test waits for it
            if way == ["raise"]:
                raise RuntimeError("as if the runner had a bug")
            await stop.guard(asyncio.sleep(HELD_FOR_S))

        wish = Wish(make(fault, json.loads(options)), role, HELD_FOR_S)
        await hold(wish, stack, Path(home), PlainView(Console(stderr=True)), meanwhile)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except InterruptedRunError:
        sys.exit(130)
