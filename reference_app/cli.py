"""The command line of the app's processes."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence

from reference_app.build import WORKER_KINDS, Build
from reference_app.errors import AppError
from reference_app.settings import Settings

FAILED, USAGE = 1, 2


def main(argv: Sequence[str] | None = None, build: type[Build] = Build) -> int:
    """Run one process of the app; returns its exit status. A variant passes its own `build`."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        settings = Settings.from_env(os.environ)
        return _run(arguments, settings, build)
    except AppError as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reference_app", description="The reference app.")
    commands = parser.add_subparsers(dest="command", required=True)
    init = commands.add_parser("init", help="make indexes and topics; safe to repeat")
    init.add_argument(
        "--within", type=float, default=30.0, help="seconds to wait for the stores (default: 30)"
    )
    load = commands.add_parser("import", help="bulk load JSON lines from standard input")
    load.add_argument("--progress", action="store_true", help="show how far it is")
    load.add_argument("--expect", type=int, help="about how many lines there are, for the progress bar")
    repair = commands.add_parser("reconcile", help="compare counters with rows")
    repair.add_argument("--repair", action="store_true", help="write the right numbers")
    api = commands.add_parser("api", help="serve HTTP")
    worker = commands.add_parser("worker", help="work behind the API")
    worker.add_argument("kind", choices=WORKER_KINDS)
    for server in (api, worker):
        server.add_argument("--host", default="127.0.0.1")
        server.add_argument("--port", type=int, required=True)
    return parser


def _run(arguments: argparse.Namespace, settings: Settings, build: type[Build]) -> int:
    """Each command's modules are imported when it is run: an API starts without what a loader needs."""
    if arguments.command == "init":
        from reference_app.initialise import initialise

        return asyncio.run(initialise(settings, within_s=arguments.within))
    if arguments.command == "import":
        from reference_app.importing import ImportBar, import_lines

        bar = ImportBar(arguments.expect) if arguments.progress else None
        return asyncio.run(import_lines(settings, sys.stdin.buffer, bar))
    if arguments.command == "reconcile":
        from reference_app.reconcile import reconcile

        return asyncio.run(reconcile(settings, repair=arguments.repair))
    from reference_app.serving import serve

    kind = arguments.kind if arguments.command == "worker" else None
    return serve(build, settings, kind, host=arguments.host, port=arguments.port)
