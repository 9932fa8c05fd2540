"""schemathesis over the served OpenAPI: all checks on, no failure."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from compose.embedded.ports import free_ports
from compose.waiting import wait_until
from tests.integration.reference_app.fuzzing import fuzz


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """The API on stores in memory, as a process of its own: what is fuzzed is HTTP and the rules."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.reference_app.memory_app", str(port)
    )
    try:
        async with httpx.AsyncClient() as client:

            async def answers() -> bool:
                return (await client.get(f"{url}/healthz")).status_code == 200

            await wait_until(answers, "the server answering", within_s=60)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def furnish(url: str) -> list[str]:
    """The ids of three users and of a post of each."""
    async with httpx.AsyncClient(base_url=url, timeout=15) as client:
        users = [(await client.post("/users", json={"name": f"user {n}"})).json()["id"] for n in range(3)]
        posts = [
            (await client.post("/posts", json={"text": "text"}, headers={"X-User-Id": user})).json()["id"]
            for user in users
        ]
    return users + posts


async def test_no_check_of_schemathesis_fails(server: str, tmp_path: Path) -> None:
    status, output = await fuzz(server, tmp_path, ids=await furnish(server), examples=6)
    assert status == 0, output[-6000:]
    tested = re.search(r"Tested: +(\d+)", output)
    assert tested is not None
    assert int(tested[1]) == 19, output[-3000:]


async def test_an_answer_that_is_not_as_described_is_noticed(server: str, tmp_path: Path) -> None:
    """The same run against a description that promises something else."""
    async with httpx.AsyncClient() as client:
        document = (await client.get(f"{server}/openapi.json")).json()
    for path in list(document["paths"]):
        if path != "/users/{id}/followers/count":
            del document["paths"][path]
    document["components"]["schemas"]["CountView"]["properties"]["count"]["minimum"] = 1
    false = tmp_path / "false.json"
    false.write_text(json.dumps(document))
    ids = await furnish(server)
    status, output = await fuzz(server, tmp_path, ids=ids, examples=6, description=str(false))
    assert status == 1, output[-3000:]
    assert "less than the minimum" in output or "schema" in output.lower()
