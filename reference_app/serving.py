"""Runs an API or a worker process until it is told to stop, then drains it."""

import asyncio
import logging
import signal
from typing import Final

import uvicorn
import uvloop
from starlette.applications import Starlette

from reference_app.build import Build, WorkerKind
from reference_app.health import Readiness
from reference_app.metrics import Metrics
from reference_app.settings import Settings
from reference_app.web.server import api_application, worker_application

log = logging.getLogger(__name__)

_DRAIN_S: Final = 5


def serve(build: type[Build], settings: Settings, kind: WorkerKind | None, *, host: str, port: int) -> int:
    """Serve the API (`kind` None) or a worker, until SIGTERM or SIGINT. Returns the exit status."""
    main = _api(build, settings, host, port) if kind is None else _worker(build, settings, kind, host, port)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


async def _api(build: type[Build], settings: Settings, host: str, port: int) -> int:
    parts, metrics = build(settings), Metrics()
    async with parts.connected() as app:
        return await listen(api_application(app, Readiness(parts.probes()), metrics), host, port)


async def _worker(build: type[Build], settings: Settings, kind: WorkerKind, host: str, port: int) -> int:
    parts, metrics = build(settings), Metrics()
    async with parts.connected(kafka=False) as app:
        worker = parts.worker(kind, app)
        worker.measure(metrics)
        worker.start()
        try:
            return await listen(worker_application(Readiness({kind: worker.ready}), metrics), host, port)
        finally:
            await worker.close()


async def listen(application: Starlette, host: str, port: int) -> int:
    """Answer until a signal comes, then finish the requests in hand."""
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
        log_config=None,
        backlog=1024,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=_DRAIN_S,
        server_header=False,
        date_header=False,
    )
    server = uvicorn.Server(config)
    # uvicorn raises the signal once more after it has drained. Left to the default, that would end the
    # process before its connections are flushed and closed.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    await server.serve()
    return 0 if server.started else 1
