"""Plain Locust, for comparison: a closed loop that tries to keep up 50 requests a second."""

import os

from locust import FastHttpUser, constant_throughput, task


class Plain(FastHttpUser):
    wait_time = constant_throughput(float(os.environ.get("PLAIN_RATE_PER_USER", "1")))
    network_timeout = 5.0
    connection_timeout = 5.0

    @task
    def look(self) -> None:
        self.client.get("/healthz")
