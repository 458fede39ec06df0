"""The command line as a page: what ``--help`` prints."""

import typer
from typer.testing import CliRunner

from anabranch.cli import app as commands

EXIT_CODES = """| exit code | means |
|---|---|
| 0 | done |
| 1 | it failed: the solver did not converge within `--max-passes`, the disk is full, memory ran out |
| 2 | the input or an option is wrong |
| 3 | a reproduced number is outside its band |
| 130 | stopped by Ctrl-C; `run` leaves in `--out` what there is until then, `solve` by passes prints it |
| 141 | nobody reads the output any more, as with `\\| head` |"""


def command_names(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List a command and all below it."""
    context = typer.Context(command)
    own = command.list_commands(context) if hasattr(command, "list_commands") else []
    return [path, *(name for sub in own for name in command_names(command.get_command(context, sub), (*path, sub)))]


def command_line_page() -> str:
    """Give what ``--help`` says of every command."""
    parts = ["# The command line", "What `--help` prints, command by command.", EXIT_CODES]
    for path in command_names(typer.main.get_command(commands)):
        printed = CliRunner().invoke(commands, [*path, "--help"], prog_name="anabranch").output.strip()
        heading = "## " if len(path) < 2 else "### "
        parts.append(f"{heading}`{' '.join(('anabranch', *path))}`\n\n```text\n{printed}\n```")
    return "\n\n".join(parts) + "\n"
