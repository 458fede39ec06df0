"""``anabranch completion``: the script by which a shell completes commands, options and names."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

HELP = """Print the script by which a shell completes commands, options and names.

For bash, add `eval "$(anabranch completion bash)"` to ~/.bashrc. For zsh, add `eval "$(anabranch completion zsh)"` to
~/.zshrc, below the line with compinit. For fish, write the script to ~/.config/fish/completions/anabranch.fish.
"""


def command(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")]) -> None:
    """Run `HELP`."""
    # Only now: no other command needs it.
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="anabranch", complete_var="_ANABRANCH_COMPLETE", shell=shell))
