"""The yardstick: a bare `FastHttpUser` in Locust's closed loop, without waits. Says its requests per core."""

import sys
import time
from typing import Any

from locust import FastHttpUser, constant, events, task

hooks: Any = events
began: dict[str, float] = {}


class Bare(FastHttpUser):
    wait_time = constant(0)

    @task
    def look(self) -> None:
        self.client.get("/feed?limit=20", headers={"X-User-Id": "u"}, name="/feed")


@hooks.spawning_complete.add_listener  # type: ignore[untyped-decorator]
def begin(**_: Any) -> None:
    began.setdefault("cpu", time.process_time())


@hooks.test_stop.add_listener  # type: ignore[untyped-decorator]
def end(environment: Any, **_: Any) -> None:
    cpu = time.process_time() - began.get("cpu", 0.0)
    sys.stdout.write(f"requests per core: {environment.stats.total.num_requests / max(cpu, 1e-9):.0f}\n")
    sys.stdout.flush()
