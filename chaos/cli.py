"""The command line: verbs, and what an error means for the exit status.

0 pass, 1 fail, 2 usage, 3 invalid, 4 could not run, 130 interrupted (and healed).
"""

import os
import sys

import click
from rich.console import Console

from chaos.commands.claims import claims
from chaos.commands.compare import compare
from chaos.commands.completion import completion
from chaos.commands.demo_graph import demo_graph
from chaos.commands.drills import drill, drills
from chaos.commands.gameday import gameday
from chaos.commands.group import Verbs
from chaos.commands.heal import heal, inject
from chaos.commands.load import seed, swarm
from chaos.commands.plan import plan
from chaos.commands.project import use
from chaos.commands.results import audit, report
from chaos.commands.soak import soak
from chaos.commands.stack import down, status, up
from chaos.errors import ChaosError
from compose.stack import StackError
from compose.waiting import NeverHappenedError
from results.urls import shown

COULD_NOT_RUN = 4


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="feedstorm")
def cli() -> None:
    """Load and chaos for a social feed, with a verdict that can be trusted."""


for command in (
    up, use, down, status, seed, swarm, drills, drill, soak, gameday, inject, heal,
    report, compare, audit, demo_graph, claims, plan, completion,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """The entry point. Errors that a user can do something about are one sentence, never a traceback."""
    try:
        cli.main(prog_name="feedstorm", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except ChaosError as error:
        sys.exit(_say(error, error.exit_code))
    except (StackError, NeverHappenedError) as error:
        sys.exit(_say(error, COULD_NOT_RUN))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone
        sys.exit(0)


def _say(error: Exception, code: int) -> int:
    Console(stderr=True, highlight=False).print(
        f"feedstorm: {shown(str(error))}", soft_wrap=True, markup=False
    )
    return code


if __name__ == "__main__":
    main()
