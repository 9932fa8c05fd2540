"""The app's processes by themselves: started before their stores, misused, and told to stop."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from compose.embedded.ports import free_ports
from compose.waiting import wait_until
from tests.integration.reference_app.town import BOUND_S

USER = "0d1f4b3e-0000-4000-8000-000000000001"
POST = "0d1f4b3e-0000-4000-8000-000000000002"


def nowhere() -> dict[str, str]:
    """Settings of stores that are not there: ports that nobody listens on."""
    mongo, redis, kafka = free_ports(3)
    return {
        "FEED_MONGO_URI": f"mongodb://me:secret@127.0.0.1:{mongo}/?replicaSet=rs0",
        "FEED_REDIS_URL": f"redis://:secret@127.0.0.1:{redis}/0",
        "FEED_KAFKA_BOOTSTRAP": f"127.0.0.1:{kafka}",
    }


async def started(*arguments: str, env: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reference_app",
        *arguments,
        env=dict(os.environ) | env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def finished(*arguments: str, env: dict[str, str], data: bytes = b"") -> tuple[int, str]:
    process = await started(*arguments, env=env)
    async with asyncio.timeout(90):
        output, _ = await process.communicate(data)
    return process.returncode or 0, output.decode()


@pytest.fixture
async def lonely_api() -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """An API that was started before any of its stores."""
    (port,) = free_ports(1)
    process = await started("api", "--port", str(port), env=nowhere())
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=15) as client:

        async def answers() -> bool:
            return (await client.get("/healthz")).status_code == 200

        try:
            await wait_until(answers, "the API answering", within_s=60)
            yield process, client
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def test_an_api_without_any_store_lives_refuses_quickly_and_says_why(
    lonely_api: tuple[asyncio.subprocess.Process, httpx.AsyncClient],
) -> None:
    process, client = lonely_api
    caller = {"X-User-Id": USER}
    requests = (
        ("GET", "/feed", None),
        ("PUT", f"/posts/{POST}/like", None),
        ("POST", "/posts", {"text": "text"}),
        ("GET", f"/users/{USER}", None),
    )
    for method, path, body in requests:
        begun = time.monotonic()
        answer = await client.request(method, path, headers=caller, json=body)
        assert time.monotonic() - begun < BOUND_S
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.headers["content-type"] == "application/problem+json"
    ready = await client.get("/readyz")
    assert ready.status_code == 503
    assert set(ready.json()["unusable"]) == {"mongo", "redis", "kafka"}
    assert (await client.get("/healthz")).status_code == 200
    assert "feed_request_seconds" in (await client.get("/metrics")).text
    assert (await client.get("/openapi.json")).json()["openapi"] == "3.1.0"
    assert "<table>" in (await client.get("/docs")).text
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(20):
        output, _ = await process.communicate()
    assert process.returncode == 0
    assert b"secret" not in output
    assert b"Traceback" not in output


async def test_init_names_the_store_that_does_not_come_and_how_long_it_waited() -> None:
    env = nowhere()
    status, output = await finished("init", "--within", "1", env=env)
    assert status == 1
    last = output.strip().splitlines()[-1]
    assert "could not be used within" in last
    assert "secret" not in output
    assert "Traceback" not in output


async def test_settings_that_cannot_be_used_are_one_sentence() -> None:
    env = {"FEED_STRATEGY": "guess", "FEED_LIKE_SHARDS": "many"}
    status, output = await finished("reconcile", env=env)
    assert status == 1
    (line,) = output.strip().splitlines()
    assert "FEED_STRATEGY" in line
    assert "FEED_LIKE_SHARDS" in line


async def test_a_line_that_cannot_be_loaded_is_named() -> None:
    status, output = await finished("import", env=nowhere(), data=b'\n{"user": 5}\n')
    assert status == 1
    assert output.strip().splitlines()[-1].startswith("Line 2 cannot be loaded")
    assert "Traceback" not in output


async def test_a_command_that_does_not_exist_is_a_usage_error() -> None:
    status, output = await finished("fly", env={})
    assert status == 2
    assert "usage" in output
