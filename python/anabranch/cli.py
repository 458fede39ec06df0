"""The command line: ``anabranch solve``, ``anabranch paths``, ``anabranch run``, ..."""

from __future__ import annotations

import os
import re
import signal
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from anabranch import interrupts
from anabranch.commands.exit_codes import FAILED, INTERRUPTED, WRONG_INPUT
from anabranch.errors import SolverError, did_you_mean, shortened

GROUPS = {
    "Solve": {
        "solve": "Divide a network's capacity fairly among demands.",
        "paths": "Find the paths of connections, and which of them share links.",
    },
    "Simulate": {
        "check": "Check a scenario or a sweep file without running it.",
        "run": "Simulate a scenario, packet by packet.",
        "sweep": "Run a scenario with many values; make tables and figures.",
        "report": "Make one HTML file of runs and allocations.",
        "serve": "Show all runs of a folder in the browser; start new ones.",
    },
    "Real packets": {
        "emulate": "Run any programs over the network of a scenario.",
        "live": "Run the connections of a scenario with real packets.",
    },
    "Between machines": {
        "perf": "Measure the throughput between two machines.",
        "share": "Share a folder or a file with other machines.",
        "send": "Serve one file until somebody has fetched it.",
        "fetch": "Fetch a file from all machines that share it at once.",
        "proxy": "Carry connections of any program over several paths to an exit.",
        "exit": "Be the exit of proxies: connect to targets for them.",
        "relay": "Stand between proxies and their exit: split their connections.",
        "show": "Show the lines and flows of a proxy, relay or exit that runs.",
    },
    "Rates granted": {
        "agent": "Run the agent of a node, which grants rates.",
        "grant": "Run any program at a rate that the agent grants.",
    },
    "Published results": {
        "reproduce": "Reproduce the tables and figures of papers.",
    },
    "Files and names": {
        "topology": "Describe, convert and generate networks.",
        "trace": "Describe and convert traces of links.",
        "examples": "Copy the example scenarios and sweeps into a folder.",
        "list": "List names: protocols, nodes, links, papers and others.",
        "completion": "Print the script for completion in a shell.",
    },
}
"""The commands by their groups, each by the name of its module, with what the help says of it."""

SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}


CONNECTED = {"serve", *GROUPS["Real packets"], *GROUPS["Between machines"], *GROUPS["Rates granted"]}
"""The commands that hold connections with other programs."""

NOT_ONE_OF = re.compile(r"'(?P<given>[^']*)' is not one of (?P<known>'.*')")
"""What typer says of a word that is none of those that an option takes."""


class _Commands(TyperGroup):
    """The commands, each loaded when it is used: tables and figures load more slowly than most commands run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the names of all commands."""
        return list(SUMMARIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command; where there is none of this name, say which are like it."""
        if cmd_name not in SUMMARIES:
            if not ctx.resilient_parsing:
                ctx.fail(f"there is no command `{cmd_name}`{did_you_mean(cmd_name, SUMMARIES)}")
            return None
        module = import_module(f"anabranch.commands.{cmd_name}")
        own = getattr(module, "app", None)
        if own is None:
            own = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            own.command(name=cmd_name, help=module.HELP)(module.command)
        loaded = typer.main.get_command(own)
        loaded.name = cmd_name
        return loaded

    def invoke(self, ctx: Any) -> Any:
        """Run a command; where a word is none of those that an option takes, say which it is like."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if found := NOT_ONE_OF.search(error.message):
                hint = did_you_mean(found["given"], re.findall("'([^']*)'", found["known"]))
                error.message = f"{found['given']!r} is not one of {found['known']}{hint}"
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group of commands, without loading any."""
        widest = max(map(len, SUMMARIES))
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{widest}}", summary) for name, summary in group.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command without loading any; what comes after it is completed by the command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from typer.core import CompletionItem  # type: ignore[attr-defined]

        return [CompletionItem(name, help=text) for name, text in SUMMARIES.items() if name.startswith(incomplete)]


app = typer.Typer(
    cls=_Commands,
    help="Share network capacity fairly over many paths.\n\n"
    "`anabranch COMMAND -h` describes a command. Exit codes: 0 done, 1 failed, 2 wrong input, 3 the result does not "
    "hold, 130 stopped by Ctrl-C. SIGTERM and SIGHUP end a command as Ctrl-C does; the exit code is 128 plus the "
    "number of the signal.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"anabranch {version('anabranch')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Take the options of every command."""


def program() -> None:
    """Run the command line as a process."""
    # Where nobody reads on, as with `| head`, leave as other programs do: at once, and without words. Commands that
    # hold connections hear of it as an error: a client that leaves must not end them.
    if hasattr(signal, "SIGPIPE") and sys.argv[1:2] and sys.argv[1] not in CONNECTED:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        interrupts.heed()
        main()
    except KeyboardInterrupt:
        # It came before there was a command that could have heard it.
        sys.exit(interrupts.exit_code())
    finally:
        interrupts.ignore()


def main() -> None:
    """Run the command line and exit with its exit code."""
    try:
        app(prog_name="anabranch")
    except KeyboardInterrupt:
        sys.exit(interrupts.exit_code())
    except SystemExit as left:
        # Commands leave by the code of Ctrl-C, whichever signal it was.
        sys.exit(interrupts.exit_code() if left.code == INTERRUPTED else left.code)
    except (ValueError, OverflowError) as error:
        _leave(WRONG_INPUT, error)
    except BrokenPipeError:
        _leave_quietly()
    except (SolverError, OSError, MemoryError) as error:
        _leave(FAILED, error)


def _leave_quietly() -> NoReturn:
    """Leave without words where nobody reads on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(FAILED)


def _leave(code: int, error: BaseException) -> NoReturn:
    typer.echo(f"anabranch: {' '.join(shortened(str(error)).split()) or type(error).__name__}", err=True)
    sys.exit(code)
