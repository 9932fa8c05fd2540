"""`up`, `down`, `status`: the stack by hand."""

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from chaos.commands.common import (
    DurationType,
    home_option,
    json_option,
    output,
    print_json,
    progress,
    run_until_stopped,
    stack_option,
)
from chaos.drill import Population, StackWishes
from chaos.errors import CouldNotRunError, UsageError
from chaos.healing import heal
from chaos.leases import LeaseBook
from chaos.live import View
from chaos.session import options_for
from chaos.stacks import attach, create
from chaos.stop import Stop
from chaos.units import Seconds
from compose.stack import Stack


@click.command()
@stack_option
@home_option
@click.option("--election-timeout", type=DurationType(), help="How long Mongo goes without a primary.")
@click.option("--set", "settings", multiple=True, metavar="FEED_X=VALUE", help="A setting of the app.")
def up(stack: str, home: Path, election_timeout: Seconds | None, settings: tuple[str, ...]) -> None:
    """Start the stack and leave it running."""
    wishes = StackWishes(election_timeout=election_timeout, env=dict(_setting(text) for text in settings))
    there = attach(home)
    if there is not None:
        raise CouldNotRunError(f"the {there.kind} stack is up already in {home}; `feedstorm status` shows it")

    async def work(view: View, stop: Stop) -> Stack:
        made = create(stack, home, options_for(wishes, Population()))
        try:
            with view.step(f"starting the {made.kind} stack"):
                await stop.guard(made.up())
        except BaseException:
            await made.down()
            raise
        return made

    _show(run_until_stopped(work), as_json=False)


@click.command()
@home_option
def down(home: Path) -> None:
    """Stop the stack, whatever state it is in."""
    there = attach(home)
    book = LeaseBook(home)
    if there is None:
        heal(book.all(), None, book)
        progress().say(f"no stack is up in {home}")
        return

    async def work(view: View, stop: Stop) -> None:
        with view.step(f"stopping the {there.kind} stack"):
            await there.down()

    run_until_stopped(work)
    heal(book.all(), None, book)


@click.command()
@home_option
@json_option
def status(home: Path, as_json: bool) -> None:
    """Show what is up, who is primary, and which faults are in force."""
    there = attach(home)
    if there is None:
        raise CouldNotRunError(f"no stack is up in {home}; start one with `feedstorm up`")
    _show(there, as_json=as_json)
    faults = LeaseBook(home).all()
    for lease in faults if not as_json else ():
        click.echo(f"in force: {lease.fault} on {', '.join(lease.targets)} ({lease.id})")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("FEED_"):
        raise UsageError(f"'{text}' is not a setting of the app: write it like FEED_FALLBACK_RPS=100")
    return name, value


def _show(stack: Stack, *, as_json: bool) -> None:
    members: list[dict[str, Any]] = [
        {
            "name": member.name,
            "component": str(member.component),
            "state": str(stack.control.state(member.name)),
            "address": member.address or "",
        }
        for member in stack.members
    ]
    primary = stack.primary()
    if as_json:
        apis = list(stack.endpoints.api)
        print_json({"stack": stack.kind, "primary": primary, "api": apis, "members": members})
        return
    table = Table(box=None, pad_edge=False)
    for column in ("member", "component", "state", "address"):
        table.add_column(column)
    for member in members:
        mark = " (primary)" if member["name"] == primary else ""
        table.add_row(member["name"] + mark, member["component"], member["state"], member["address"])
    output().print(table)
    click.echo(f"API: {', '.join(stack.endpoints.api) or 'none'}")
