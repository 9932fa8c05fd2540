"""`heal` and `inject`: faults by hand."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from chaos import roles
from chaos.by_hand import Wish, hold
from chaos.commands.common import DurationType, home_option, run_until_stopped, stack_that_is_up
from chaos.errors import HealError, UsageError
from chaos.faults import make
from chaos.healing import heal as heal_leases
from chaos.leases import LeaseBook
from chaos.live import View
from chaos.stacks import arm, attach
from chaos.stop import Stop
from chaos.units import Seconds
from compose.stack import StackError
from compose.waiting import NeverHappenedError

_READY_WITHIN_S = 45.0


@click.command()
@home_option
@click.option("--dry-run", is_flag=True, help="Say what would be healed; touch nothing.")
def heal(home: Path, dry_run: bool) -> None:
    """Undo every fault that is in force, and see that it took. Safe to repeat."""
    book = LeaseBook(home)
    leases, unreadable = book.all(), book.unreadable()
    if unreadable:
        click.echo(f"cannot be read as a lease: {', '.join(map(str, unreadable))}")
    if not leases and not unreadable:
        click.echo("nothing to heal")
        return
    if dry_run:
        for lease in leases:
            click.echo(f"would heal {lease.fault} on {', '.join(lease.targets)} ({lease.id})")
        return
    stack = attach(home)
    arsenal = arm(stack, home) if stack is not None else None
    healings = heal_leases(leases, arsenal, book, why="by hand")
    for healing in healings:
        click.echo(f"{healing.lease.fault} on {healing.target}: {healing.stage} ({healing.detail})")
    failed = [healing for healing in healings if healing.stage == "heal_failed"]
    if failed or unreadable:
        raise HealError(
            f"{len(failed) + len(unreadable)} not healed; `feedstorm down` takes the whole stack away"
        )
    if stack is not None:
        names = {healing.target for healing in healings} & {member.name for member in stack.members}
        _see_ready(lambda: stack.wait_ready(tuple(sorted(names)), within_s=_READY_WITHIN_S), names)


def _see_ready(wait: Callable[[], Coroutine[Any, Any, None]], names: set[str]) -> None:
    if not names:
        return
    try:
        asyncio.run(wait())
    except (StackError, NeverHappenedError) as error:
        raise HealError(f"healed, and still not doing its work: {error}") from None


@click.command()
@click.argument("fault")
@click.argument("role")
@home_option
@click.option("--for", "held_for", type=DurationType(), default="15s", show_default=True)
@click.option("--with", "options", multiple=True, metavar="NAME=VALUE", help="An option of the fault.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--allow-host", multiple=True, help="A host other than this machine that may be broken.")
def inject(
    fault: str,
    role: str,
    home: Path,
    held_for: Seconds,
    options: tuple[str, ...],
    seed: int,
    allow_host: tuple[str, ...],
) -> None:
    """Put FAULT on whoever plays ROLE in the stack that is up, for a while, and heal it.

    For example: feedstorm inject latency 'link:app->redis' --with delay=200ms --for 20s
    """
    roles.parse(role)
    wish = Wish(make(fault, dict(_option(text) for text in options)), role, held_for, seed, allow_host)
    stack = stack_that_is_up(home)

    async def work(view: View, stop: Stop) -> None:
        await hold(wish, stack, home, view, lambda: stop.guard(asyncio.sleep(held_for)))

    run_until_stopped(work)


def _option(text: str) -> tuple[str, str | int]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"'{text}' is not an option of a fault: write it like delay=200ms")
    return name, int(value) if value.isdigit() else value
