"""The page of the command line: the output of ``--help``."""

import typer
from typer.testing import CliRunner

from anabranch.cli import app as commands

EXIT_CODES = """| exit code | means |
|---|---|
| 0 | done |
| 1 | the command failed: the solver did not converge within `--max-passes`, the disk is full, memory ran out |
| 2 | the input or an option is wrong |
| 3 | a reproduced number is outside its band; `live` and `emulate`: the run is not valid because packets were late |
| 130 | Ctrl-C stopped the command; `run` keeps the results so far in `--out`, `solve` by passes prints them |
| 141 | the reader closed the output, as with `\\| head` |"""


def command_names(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List a command and all its subcommands."""
    context = typer.Context(command)
    own = command.list_commands(context) if hasattr(command, "list_commands") else []
    return [path, *(name for sub in own for name in command_names(command.get_command(context, sub), (*path, sub)))]


def command_line_page() -> str:
    """Give the output of ``--help`` of every command."""
    parts = ["# The command line", "The output of `--help` for each command.", EXIT_CODES]
    for path in command_names(typer.main.get_command(commands)):
        printed = CliRunner().invoke(commands, [*path, "--help"], prog_name="anabranch").output.strip()
        heading = "## " if len(path) < 2 else "### "
        parts.append(f"{heading}`{' '.join(('anabranch', *path))}`\n\n```text\n{printed}\n```")
    return "\n\n".join(parts) + "\n"
