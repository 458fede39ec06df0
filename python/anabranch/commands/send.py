"""``anabranch send``: one file, served until somebody has fetched it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from anabranch.commands.grants import Demand, Grant, granted
from anabranch.commands.items import Publish, publish
from anabranch.commands.share import (
    Certificate,
    Host,
    Key,
    Listen,
    command_for,
    refuse_missing,
    served,
    tell_of_reading,
)
from anabranch.transfer.files import PORT, send

HELP = """Serve one file over QUIC, and wait until somebody fetches it.

Computes the hash of the file and prints the command that fetches it. Serves this file alone, over every path that the
receiver opens, and exits when somebody has fetched all of it. Ctrl-C ends it earlier, with exit code 130. The receiver
has to reach the port: there is no relay. `anabranch share` serves a file or a folder to many receivers.
"""


def command(
    file: Annotated[Path, typer.Argument(help="File to serve.")],
    listen: Listen = None,
    host: Host = None,
    certificate: Certificate = None,
    key: Key = None,
    grant: Grant = None,
    demand: Demand = None,
    publishes: Publish = None,
) -> None:
    """Run `HELP`."""
    stack = ExitStack()

    def ready(url: str) -> None:
        typer.echo(command_for(url))
        publish(publishes, url, stack)
        typer.echo("waiting until somebody fetches it", err=True)

    refuse_missing(file)
    tell_of_reading(file)
    with stack:
        rates = granted(grant, demand, "send", stack)
        send(
            file,
            listen=listen or (f"0.0.0.0:{PORT}",),
            host=host,
            certificate=certificate,
            key=key,
            ready=ready,
            served=served,
            limit=None if rates is None else rates.total_bps,
        )
