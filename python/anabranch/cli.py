"""The command line: ``anabranch solve``, ``anabranch paths``, ``anabranch run``, ..."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from anabranch import interrupts
from anabranch.commands import INTERRUPTED
from anabranch.errors import SolverError, shortened

FAILED = 1
"""Exit code: the run failed."""

WRONG_INPUT = 2
"""Exit code: the input is wrong."""

COMMANDS = (
    *("solve", "run", "emulate", "live", "paths", "check", "reproduce", "sweep", "report", "serve"),
    *("perf", "share", "send", "fetch", "topology", "trace", "list"),
)
"""The commands, each by the name of its module, in the order in which the help lists them."""


class _Commands(TyperGroup):
    """The commands, each loaded when it is used: tables and figures load more slowly than most commands run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"anabranch.commands.{cmd_name}")
        own = getattr(module, "app", None)
        if own is None:
            own = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            own.command(name=cmd_name, help=module.HELP)(module.command)
        loaded = typer.main.get_command(own)
        loaded.name = cmd_name
        return loaded


app = typer.Typer(
    cls=_Commands,
    help="Share network capacity fairly over many paths.\n\n"
    "SIGTERM and SIGHUP end a command as Ctrl-C does; the exit code is 128 plus the number of the signal.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"anabranch {version('anabranch')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options of every command."""


def program() -> None:
    """Run the command line as a process."""
    # Where nobody reads on, as with `| head`, leave as other programs do: at once, and without words.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    interrupts.heed()
    try:
        main()
    finally:
        interrupts.ignore()


def main() -> None:
    """Run the command line and exit with its exit code."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(interrupts.exit_code())
    except SystemExit as left:
        # Commands leave by the code of Ctrl-C, whichever signal it was.
        sys.exit(interrupts.exit_code() if left.code == INTERRUPTED else left.code)
    except (ValueError, OverflowError) as error:
        _leave(WRONG_INPUT, error)
    except (SolverError, OSError, MemoryError) as error:
        _leave(FAILED, error)


def _leave(code: int, error: BaseException) -> NoReturn:
    typer.echo(f"anabranch: {' '.join(shortened(str(error)).split()) or type(error).__name__}", err=True)
    sys.exit(code)
