"""Stands in for the load generator: writes the rows that a real one would, without sending anything.

    python -m tests.integration.chaos.stub_swarm RUN_DIR BEHAVIOUR

BEHAVIOUR is `good`, `broken` (every second op fails), `fails-later` (every op fails after 5 s),
`dies` (after 6 s), or `never` (ends at once).
"""

import signal
import sys
import time
from pathlib import Path

from results.history import SERIES, Clock, GeneratorSecond, Log, OpSecond, SeriesRow, WorkerChange
from results.latency import record

OPS_A_SECOND = 20


def rows_of(second: int, share: float) -> list[SeriesRow]:
    ok: dict[int, int] = {}
    failed: dict[int, int] = {}
    for number in range(OPS_A_SECOND):
        record(failed if number < share * OPS_A_SECOND else ok, 0.01)
    return [
        OpSecond(t=second, worker="stub", op="GET /feed", user="feed_reader", ok=ok, failed=failed),
        GeneratorSecond(t=second, worker="stub", planned=OPS_A_SECOND, sent=OPS_A_SECOND),
    ]


def main() -> None:
    directory, behaviour = Path(sys.argv[1]), sys.argv[2]
    if behaviour == "never":
        sys.exit("the stub refuses to begin")
    clock, log = Clock.of_run(), Log[SeriesRow](directory / SERIES)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    began = clock.now()
    log.append(WorkerChange(began, "stub", "joined"))
    while True:
        second = int(clock.now())
        late = clock.now() - began > 5
        share = {"broken": 0.5, "fails-later": 1.0 if late else 0.0}.get(behaviour, 0.0)
        log.append(*rows_of(second, share))
        if behaviour == "dies" and clock.now() - began > 6:
            sys.exit("the stub has died")
        time.sleep(second + 1 - clock.now())


if __name__ == "__main__":
    main()
