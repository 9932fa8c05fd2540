"""The proxies under test: our own, and a real toxiproxy-server where there is one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from compose.embedded.parts import TOXIPROXY_VARIABLE
from compose.embedded.ports import free_ports


@pytest.fixture(scope="module", params=["embedded", "toxiproxy-server"])
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a fresh proxy's HTTP API."""
    (port,) = free_ports(1)
    if request.param == "embedded":
        argv = [sys.executable, "-m", "compose.embedded.proxy", "--port", str(port), "--seed", "1"]
    else:
        path = os.environ.get(TOXIPROXY_VARIABLE) or shutil.which("toxiproxy-server")
        if not path:
            pytest.skip(f"no toxiproxy-server on PATH or in {TOXIPROXY_VARIABLE}")
        argv = [path, "-host", "127.0.0.1", "-port", str(port), "-seed", "1"]
    log = Path(tmp_path_factory.mktemp("proxy") / "proxy.log")
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output)
    transport = httpx.HTTPTransport(retries=10)  # until it listens
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=5) as client:
            client.get("/version").raise_for_status()
            yield client
    finally:
        process.terminate()
        assert process.wait(10) == 0, log.read_text()
