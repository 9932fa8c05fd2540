"""`report` and `audit`: what can be done with a run afterwards."""

from pathlib import Path

import click

from chaos.commands.common import (
    home_option,
    json_option,
    output,
    print_json,
    progress,
    runs_option,
    stack_that_is_up,
)
from chaos.errors import UsageError
from chaos.session import audit_run
from results import report as reports
from results import summary, verdict
from results.history import RUN


@click.command()
@click.argument("run", default="latest")
@runs_option
@json_option
def report(run: str, runs: Path, as_json: bool) -> None:
    """Write the reports of RUN again (default: the latest) and print its verdict."""
    directory = find_run(run, runs)
    paths = reports.write(directory)
    judged = verdict.read(directory)
    if as_json:
        print_json(judged)
    else:
        output().print(summary.render(judged, paths.html))


@click.command()
@click.argument("run", default="latest")
@runs_option
@home_option
@json_option
def audit(run: str, runs: Path, home: Path, as_json: bool) -> None:
    """Hold the acknowledged writes of RUN against the stack that is up now."""
    directory, stack = find_run(run, runs), stack_that_is_up(home)
    with progress().step("auditing the acknowledged writes"):
        found = audit_run(directory, stack)
    if as_json:
        print_json(found)
        return
    if found.error:
        click.echo(f"the audit could not run: {found.error}")
    for finding in found.findings:
        mark = {True: "kept", False: "BROKEN", None: "nothing to check"}[finding.ok]
        click.echo(f"{finding.invariant}: {mark} ({finding.text})")


def find_run(run: str, runs: Path) -> Path:
    """A run by its directory, or by its name under `runs`. Raises UsageError."""
    for directory in (Path(run), runs / run):
        if (directory / RUN).is_file():
            return directory.resolve()
    raise UsageError(f"no run '{run}': neither it nor {runs / run} is a directory with a {RUN}")
