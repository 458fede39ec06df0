"""The command line: ``anabranch solve``, ``anabranch paths``, ``anabranch run``, ..."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, NoReturn

import typer

from anabranch import interrupts
from anabranch.commands import (
    check,
    emulate,
    fetch,
    live,
    paths,
    perf,
    report,
    reproduce,
    run,
    send,
    serve,
    share,
    solve,
    sweep,
    topology,
    trace,
)
from anabranch.commands import list as lists
from anabranch.commands.run import INTERRUPTED
from anabranch.errors import SolverError, shortened

FAILED = 1
"""Exit code: the run failed."""

WRONG_INPUT = 2
"""Exit code: the input is wrong."""

app = typer.Typer(
    help="Share network capacity fairly over many paths.\n\n"
    "SIGTERM and SIGHUP do to a command what Ctrl-C does; the exit code is 128 and the number of the signal.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(name="solve", help=solve.HELP)(solve.command)
app.command(name="run", help=run.HELP)(run.command)
app.command(name="emulate", help=emulate.HELP)(emulate.command)
app.command(name="live", help=live.HELP)(live.command)
app.command(name="paths", help=paths.HELP)(paths.command)
app.command(name="check", help=check.HELP)(check.command)
app.command(name="reproduce", help=reproduce.HELP)(reproduce.command)
app.command(name="sweep", help=sweep.HELP)(sweep.command)
app.command(name="report", help=report.HELP)(report.command)
app.command(name="serve", help=serve.HELP)(serve.command)
app.command(name="perf", help=perf.HELP)(perf.command)
app.command(name="share", help=share.HELP)(share.command)
app.command(name="send", help=send.HELP)(send.command)
app.command(name="fetch", help=fetch.HELP)(fetch.command)
app.add_typer(topology.app, name="topology")
app.add_typer(trace.app, name="trace")
app.add_typer(lists.app, name="list")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"anabranch {version('anabranch')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Take the options of every command."""


def program() -> None:
    """Run the command line as a process of its own."""
    # Where nobody reads on, as with `| head`, leave as other programs do: at once, and without words.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    interrupts.heed()
    try:
        main()
    finally:
        interrupts.ignore()


def main() -> None:
    """Run the command line and leave with its exit code."""
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
