"""``anabranch send``: one file, until somebody has it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.commands.share import Certificate, Host, Key, Listen, served, tell_of_reading
from anabranch.transfer.files import PORT, send

HELP = """Send a file over QUIC, over as many paths as who fetches it asks for.

Reads the file for its hash, and prints the URL for `anabranch fetch` with it. Serves this file alone, and ends when
somebody has fetched it whole. Ctrl-C ends it before, with code 130. `anabranch share` serves a file, or a folder, to
many.
"""


def command(
    file: Annotated[Path, typer.Argument(help="The file.")],
    listen: Listen = None,
    host: Host = None,
    certificate: Certificate = None,
    key: Key = None,
) -> None:
    """Run `HELP`."""
    tell_of_reading(file)
    send(
        file,
        listen=listen or (f"0.0.0.0:{PORT}",),
        host=host,
        certificate=certificate,
        key=key,
        ready=typer.echo,
        served=served,
    )
