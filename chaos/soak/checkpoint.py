"""A report of a soak that is still going on.

    python -m chaos.soak.checkpoint DIRECTORY

A process of its own: hours of history are read and drawn, and the runner would hold its faults up for that
long, and keep the memory.
"""

import asyncio
import os
import sys
from pathlib import Path

from results import report, verdict
from results.history import History

_NICE = 10


def write(directory: Path) -> Path:
    """Judge and report a run as far as it has come. Returns the report's path."""
    verdict.judge(History.load(directory), None)
    return report.write(directory).html


async def again_and_again(directory: Path, every_s: float) -> None:
    """Until cancelled; whatever ends the soak, the last reports are not much older than `every_s`."""
    while True:
        await asyncio.sleep(every_s)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, str(directory)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


if __name__ == "__main__":
    os.nice(_NICE)
    write(Path(sys.argv[1]))
