"""`drill --strategies` and `drill --repeat`: several runs, one table."""

from pathlib import Path

from rich.text import Text

from chaos.commands.common import output, print_json, run_until_stopped
from chaos.lineup.row import LineUp, table
from chaos.lineup.session import as_it_is, run_lineup, strategies
from chaos.live import View
from chaos.session import Request
from chaos.stop import Stop


def side_by_side(request: Request, names: str, repeat: int, *, as_json: bool) -> int:
    """Run, print, and return the exit status of the worst run. Raises UsageError for an unknown strategy."""
    variants = strategies(names) if names else as_it_is(request.drill)

    async def work(view: View, stop: Stop) -> tuple[LineUp, Path]:
        return await run_lineup(request, variants, repeat, view, stop)

    lineup, report = run_until_stopped(work)
    if as_json:
        print_json(lineup)
    else:
        output().print(table(lineup))
        output().print(Text(f"Report: {report}"), soft_wrap=True)
    return lineup.exit_code
