"""``anabranch serve``: the page over all runs of a folder, live."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch.errors import ScenarioError
from anabranch.folder import check_place
from anabranch.memory import memory_bytes

HELP = """Show all runs of a folder in the browser, and run scenarios from there.

Prints the address to open. On an address that other machines can reach every request needs a token. The printed address
contains it; --token sets it. Ctrl-C ends the server and its jobs, and keeps the results of the jobs until then.
"""

RUNS, SCENARIOS = Path("runs"), Path("scenarios")
MOST_PORT = 65535


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of the runs, also of new ones.")] = RUNS,
    host: Annotated[str, typer.Option(help="Address to serve on; all but loopback need a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=MOST_PORT, help="Port; 0 for any free one.")] = 8000,
    token: Annotated[str | None, typer.Option(help="Password that every request must contain.")] = None,
    scenarios: Annotated[
        Path | None,
        typer.Option(
            help="Folder of scenario files for new runs, beside the examples. Default: scenarios, if it exists."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of scenarios that run at a time. Default: all processors but one.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory for each run, such as 4GB. Default: 70 % of the free memory."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = False,
) -> None:
    """Run `HELP`."""
    if memory is not None:
        memory_bytes(memory)
    for name, own in (("", folder), ("--scenarios: ", scenarios)):
        if own is not None and not own.is_dir():
            what = "it is no folder" if own.exists() else "there is no such folder"
            raise ScenarioError(f"{name}{own}: {what}; name one, or make it first")
    check_place(folder / "run")
    # Only now: the server takes longer to load than other commands to run.
    from anabranch.serve import Settings, serve
    from anabranch.serve.server import token_for

    if scenarios is None and SCENARIOS.is_dir():
        scenarios = SCENARIOS
    settings = Settings(
        folder.resolve(),
        None if scenarios is None else scenarios.resolve(),
        jobs or max((os.cpu_count() or 1) - 1, 1),
        token_for(host, token),
        memory,
    )

    def ready(address: str) -> None:
        typer.echo(f"{folder}: {address}")
        if open_page:
            typer.launch(address)

    # Ctrl-C is how a server ends, and no failure.
    with suppress(KeyboardInterrupt):
        serve(settings, host=host, port=port, ready=ready)
    typer.echo("ended; what jobs had until then is kept", err=True)
