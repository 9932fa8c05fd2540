"""`compare`: runs side by side, or against a baseline that was kept."""

import sys
from pathlib import Path

import click

from chaos.commands.common import json_option, output, print_json, runs_option
from chaos.commands.results import find_run
from chaos.errors import UsageError
from results import comparison_table
from results.compare import Comparison
from results.compare import compare as compare_profiles
from results.profile import Profile, load_baseline, profile_of
from results.profile import save_baseline as keep


@click.command()
@click.argument("groups", nargs=-1, required=True, metavar="RUN [RUN ...]")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Compare with the runs kept in this file.",
)
@click.option(
    "--save-baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the last RUN in this file, unless it is a regression.",
)
@click.option("--all", "everything", is_flag=True, help="Show the measures without a clear difference too.")
@runs_option
@json_option
def compare(
    groups: tuple[str, ...],
    baseline: Path | None,
    save_baseline: Path | None,
    everything: bool,
    runs: Path,
    as_json: bool,
) -> None:
    """Compare runs with the first one, or with a baseline.

    A RUN can be several repeated ones, joined by commas. Exits 1 if something clearly became worse, and
    3 if a run is invalid, or the runs have nothing in common.
    """
    sides = [_profiles(group, runs) for group in groups]
    reference, others = (_kept(baseline), sides) if baseline else (sides[0], sides[1:])
    if not others and save_baseline is None:
        raise UsageError("there is nothing to compare with: name two runs, or a --baseline")
    comparisons = [compare_profiles(reference, other) for other in others]
    if as_json:
        print_json(comparisons)
    else:
        for comparison in comparisons:
            output().print(comparison_table.render(comparison, everything=everything))
    status = _status(comparisons)
    if save_baseline is not None:
        _keep(sides[-1], save_baseline, status)
    sys.exit(status)


def _status(comparisons: list[Comparison]) -> int:
    """A regression outweighs a doubt."""
    codes = {comparison.exit_code for comparison in comparisons}
    return 1 if 1 in codes else max(codes, default=0)


def _profiles(group: str, runs: Path) -> list[Profile]:
    try:
        return [profile_of(find_run(run, runs)) for run in group.split(",")]
    except FileNotFoundError as error:
        raise UsageError(str(error)) from None


def _kept(path: Path) -> list[Profile]:
    try:
        return load_baseline(path)
    except FileNotFoundError:
        raise UsageError(f"there is no baseline {path} yet; make one with `--save-baseline {path}`") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _keep(profiles: list[Profile], path: Path, status: int) -> None:
    invalid = [profile.run for profile in profiles if profile.verdict == "invalid"]
    if status == 1 or invalid:
        why = f"{invalid[0]} is invalid" if invalid else "it is a regression"
        click.echo(f"not kept as a baseline: {why}", err=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    keep(profiles, path)
