"""`use`: work on a docker compose project that is up already."""

from pathlib import Path

import click

from chaos.commands.common import home_option
from chaos.errors import CouldNotRunError
from chaos.stacks import attach


@click.command()
@home_option
@click.option("--project", required=True, help="The compose project's name, as `docker compose ls` lists it.")
@click.option(
    "--mapping",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file that says which service plays which part, where labels do not.",
)
@click.option("--allow-host", multiple=True, help="A Docker engine's host that is not this machine.")
def use(home: Path, project: str, mapping: Path | None, allow_host: tuple[str, ...]) -> None:
    """Work on a docker compose project that is up, instead of a stack of our own.

    Later commands act on it until `feedstorm down`, which forgets it and leaves it running.
    """
    there = attach(home)
    if there is not None:
        raise CouldNotRunError(f"a {there.kind} stack is in use in {home}; `feedstorm down` ends that")
    from compose.docker_stack import DockerStack  # needs the Docker SDK, which is slow to load

    stack = DockerStack.adopt(home, project, mapping_file=mapping, allowed_hosts=allow_host)
    for member in stack.members:
        click.echo(f"{member.name}: {member.component}{f' {member.kind}' if member.kind else ''}")
    click.echo(f"{project} is in use; `feedstorm status` shows it, `feedstorm down` forgets it")
