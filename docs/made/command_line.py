"""The page of the command line: the output of ``--help``."""

import typer
from typer.testing import CliRunner

from anabranch.cli import app as commands
from anabranch.commands.exit_codes import MEANINGS


def exit_codes() -> str:
    """Give the table of exit codes: a code has one meaning, whichever command ends with it."""
    rows = [f"| {code} | {meaning.replace('|', chr(92) + '|')} |" for code, meaning in MEANINGS.items()]
    return "\n".join(["| exit code | means |", "|---|---|", *rows])


def command_names(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List a command and all its subcommands."""
    context = typer.Context(command)
    own = command.list_commands(context) if hasattr(command, "list_commands") else []
    return [path, *(name for sub in own for name in command_names(command.get_command(context, sub), (*path, sub)))]


def command_line_page() -> str:
    """Give the output of ``--help`` of every command."""
    parts = ["# The command line", "The output of `--help` for each command.", exit_codes()]
    for path in command_names(typer.main.get_command(commands)):
        printed = CliRunner().invoke(commands, [*path, "--help"], prog_name="anabranch").output.strip()
        heading = "## " if len(path) < 2 else "### "
        parts.append(f"{heading}`{' '.join(('anabranch', *path))}`\n\n```text\n{printed}\n```")
    return "\n\n".join(parts) + "\n"
