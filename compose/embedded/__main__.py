"""For developers: the embedded stack from the command line.

python -m compose.embedded up [--services-only] [--no-proxy] | down | status   [--home DIR]
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from compose.embedded.stack import EmbeddedStack
from compose.stack import StackError, StackOptions


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compose.embedded")
    parser.add_argument("verb", choices=("up", "down", "status"))
    parser.add_argument("--home", type=Path)
    parser.add_argument("--services-only", action="store_true", help="without the application")
    parser.add_argument("--no-proxy", action="store_true", help="clients reach the servers directly")
    parser.add_argument("--election-timeout", type=float, default=10.0, help="seconds (default: 10)")
    arguments = parser.parse_args()
    try:
        return {"up": _up, "down": _down, "status": _status}[arguments.verb](arguments)
    except StackError as error:
        print(f"{arguments.verb}: {error}", file=sys.stderr)
        return 4


def _up(arguments: argparse.Namespace) -> int:
    options = StackOptions(
        election_timeout_s=arguments.election_timeout,
        services_only=arguments.services_only,
        through_proxy=not arguments.no_proxy,
    )
    begun = time.monotonic()
    asyncio.run(EmbeddedStack.create(arguments.home, options).up())
    print(f"up after {time.monotonic() - begun:.1f} s")
    return _status(arguments)


def _down(arguments: argparse.Namespace) -> int:
    stack = EmbeddedStack.attach(arguments.home)
    if stack:
        asyncio.run(stack.down())
    print("down" if stack else "no stack is up")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    stack = EmbeddedStack.attach(arguments.home)
    if stack is None:
        print("no stack is up")
        return 1
    primary = stack.primary()
    for member in stack.members:
        role = " (primary)" if member.name == primary else ""
        print(f"{member.name:16} {stack.control.state(member.name):8} {member.address}{role}")
    for name, value in stack.app_env.items():
        print(f"export {name}={value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
