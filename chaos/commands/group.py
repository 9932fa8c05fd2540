"""The group of all verbs: a mistyped one is answered with the nearest that there is."""

from typing import Any

import click

from chaos.units import suggest


class Verbs(click.Group):
    """A click group with a hint. Options are hinted at by click itself."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            name = args[0] if args else ""
            if name in self.commands:
                raise
            known = [verb for verb, command in self.commands.items() if not command.hidden]
            message = f"no command '{name}'{suggest(name, known)}"
            raise click.UsageError(message, ctx=error.ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """In the order in which they were added, which is the order in which they are used."""
        rows: list[tuple[str, Any]] = []
        shown = [(name, command) for name, command in self.commands.items() if not command.hidden]
        width = formatter.width - 6 - max((len(name) for name, _ in shown), default=0)
        for name, command in shown:
            rows.append((name, command.get_short_help_str(width)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
