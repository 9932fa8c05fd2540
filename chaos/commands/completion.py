"""`completion`: what a shell needs to complete commands, options and names."""

import click
from click.shell_completion import get_completion_class

from chaos.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FEEDSTORM_COMPLETE"
_WHERE = {
    "bash": '~/.bashrc:  eval "$(feedstorm completion bash)"',
    "zsh": '~/.zshrc:  eval "$(feedstorm completion zsh)"',
    "fish": "~/.config/fish/completions/feedstorm.fish:  feedstorm completion fish | source",
}


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete `feedstorm`: put it where the shell starts.

    \b
    bash: eval "$(feedstorm completion bash)"        in ~/.bashrc
    zsh:  eval "$(feedstorm completion zsh)"         in ~/.zshrc
    fish: feedstorm completion fish | source         in ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"no completion for '{shell}'")
    click.echo(f"# {_WHERE[shell]}")
    click.echo(kind(ctx.find_root().command, {}, "feedstorm", VARIABLE).source())
