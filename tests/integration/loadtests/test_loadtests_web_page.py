"""A swarm led from Locust's own web page: its form, its start and its stop."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.loadtests.harness import Stub, Swarm, free_port, swarm, wait_for

STATS_AGE_S = 2.5
"""Locust's page may show statistics that are two seconds old."""
STATS_AGE_S = 2.5
"""Locust's page may show statistics that are two seconds old."""
OPTIONS = ("arrivals", "shape", "mix", "population", "probes", "read_timeout")


class Page:
    def __init__(self, port: int, running: Swarm, workers: int) -> None:
        self.running, self.expected = running, workers
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)

    def text(self) -> str:
        return self._http.get("/").text

    def is_there(self) -> bool:
        try:
            return self._http.get("/").is_success
        except httpx.HTTPError:
            return False

    def may_start(self) -> bool:
        """A worker that has stopped joins anew, a moment later."""
        state = self._http.get("/stats/requests").json()
        workers = [worker["state"] for worker in state.get("workers", [])]
        return state["state"] in ("ready", "stopped") and workers == ["ready"] * self.expected

    def start(self, **form: Any) -> dict[str, Any]:
        form = {"user_count": 1, "spawn_rate": 1, "host": "", **form}
        answer: dict[str, Any] = self._http.post("/swarm", data=form).raise_for_status().json()
        return answer

    def stop(self) -> None:
        self._http.post("/stop").raise_for_status()

    def close(self) -> None:
        self._http.close()


@pytest.fixture(params=[(), ("--processes", "2")], ids=["alone", "two workers"])
def page(request: pytest.FixtureRequest, stub: Stub, tmp_path: Path) -> Iterator[Page]:
    port = free_port()
    where = ("--web-host", "127.0.0.1", "--web-port", str(port))
    with swarm(tmp_path, stub.url, *where, "--probes", "none", "--drain", "2", *request.param) as running:
        page = Page(port, running, 2 if request.param else 0)
        wait_for(page.is_there, "the web page", within_s=40)
        wait_for(page.may_start, "every worker", within_s=40)
        yield page
        page.close()


def test_the_form_has_our_options_and_a_start_obeys_them(page: Page, stub: Stub) -> None:
    text = page.text()
    assert all(f'"{name}"' in text for name in OPTIONS)
    assert '"run_dir"' not in text, "the page does not choose where files are written"

    refused = page.start(host=stub.url, arrivals="many")
    assert refused["success"] is False
    assert refused["message"] == "--arrivals: must be ops per second, such as 60, not 'many'"
    refused = page.start(host=stub.url, arrivals="20", mix="vip:1")
    assert "no user class is called vip" in refused["message"]
    assert "no address was given" in page.start(arrivals="20")["message"]
    assert stub.total == 0

    assert page.start(host=stub.url, arrivals="40", shape="steady")["success"] is True
    page.running.until(lambda run: run.sent >= 100)
    page.stop()
    wait_for(lambda: "done" in page.running.read().all_states(), "the end of the drain", within_s=20)
    first = page.running.read()
    assert first.sent == stub.total, "the stop button drains: every request is in the rows"
    assert {row.arrival for row in first.generator()} == {"open"}
    sending = {row.worker for row in first.generator() if row.sent}
    assert len(sending) == max(1, page.expected), "one user on the form is a share for every worker"

    time.sleep(STATS_AGE_S)
    wait_for(page.may_start, "everybody being ready again", within_s=20)
    assert page.start(host=stub.url, arrivals="0", user_count=4, spawn_rate=10)["success"] is True
    page.running.until(lambda run: any(row.arrival == "closed" and row.sent for row in run.generator()))
    page.stop()
    run = page.running.stop()
    assert run.code in (0, 1), run.output
    assert run.sent == stub.total
