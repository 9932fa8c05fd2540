"""Serves the API on stores in memory: `python -m tests.integration.reference_app.memory_app PORT`."""

import asyncio
import sys

from reference_app.app import App
from reference_app.health import Readiness
from reference_app.metrics import Metrics
from reference_app.serving import listen
from reference_app.settings import Settings
from reference_app.stores.memory.bundle import MemoryStores
from reference_app.web.server import api_application


async def main(port: int) -> int:
    settings = Settings()
    app = App(MemoryStores(settings), settings)
    return await listen(api_application(app, Readiness({}), Metrics()), "127.0.0.1", port)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]))))
