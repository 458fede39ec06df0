"""``anabranch share``: the files of a folder, or one file, served to receivers."""

from __future__ import annotations

import os
import shlex
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.grants import Demand, Grant, granted
from anabranch.commands.items import Publish, publish
from anabranch.commands.text import printable
from anabranch.errors import ScenarioError
from anabranch.number_labels import bytes_text
from anabranch.transfer.files import PORT, share

HELP = """Share the files of a folder, or one file, read-only, over QUIC.

Prints the command that fetches them. For a folder it fetches all files; the name of a file after the slash of the URL
fetches this one. The URL contains the fingerprint of this machine's certificate, which the receiver checks;
--certificate and --key use a signed certificate instead. The URL of a single file also contains its hash; for a large
file this takes some time.

The receiver has to reach the port: there is no relay. Everybody who can reach it can list and read the files. Ctrl-C
ends it.
"""

SHOWN = 8
"""The most names of files that are printed."""

LARGE_BYTES = 1_000_000_000
"""The size of a file from which on a line says that it is being read."""

Listen = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS:PORT",
        help=f"Address to listen at; the first is in the URL. Repeatable. Default: 0.0.0.0:{PORT}.",
    ),
]
Host = Annotated[str | None, typer.Option(help="Name or address to put into the URL.")]
Certificate = Annotated[Path | None, typer.Option(help="PEM file with the certificate of this machine.")]
Key = Annotated[Path | None, typer.Option(help="PEM file with the key of the certificate.")]


def command(
    path: Annotated[
        Path, typer.Argument(help="Folder or file to serve; nothing else is served, whatever names or links say.")
    ],
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
        if path.is_dir():
            tell_of_files(path, url)

    refuse_missing(path)
    tell_of_reading(path)
    # Ctrl-C is how a sharer ends, and no failure.
    with suppress(KeyboardInterrupt), stack:
        rates = granted(grant, demand, "share", stack)
        share(
            path,
            listen=listen or (f"0.0.0.0:{PORT}",),
            host=host,
            certificate=certificate,
            key=key,
            ready=ready,
            served=served,
            limit=None if rates is None else rates.total_bps,
        )


def refuse_missing(path: Path) -> None:
    """Refuse to serve what is not there."""
    if not path.exists():
        raise ScenarioError(f"{path}: there is no such file or folder; check the name")


def tell_of_reading(file: Path) -> None:
    """Say that a file is read before its URL is printed, if that may take long."""
    if file.is_file() and (size := file.stat().st_size) >= LARGE_BYTES:
        typer.echo(f"reading {file} ({bytes_text(size)}): its URL has its hash", err=True)


def command_for(url: str) -> str:
    """Give the command that fetches from a URL, to be pasted into a shell."""
    return f"anabranch fetch {shlex.quote(url)}"


def tell_of_files(folder: Path, url: str) -> None:
    """Say which files a folder has, and how to fetch one of them."""
    files, size = [], 0
    for at, _, names in os.walk(folder):
        for name in names:
            file = Path(at, name)
            if file.is_file():
                files.append(file.relative_to(folder).as_posix())
                size += file.stat().st_size
    if not files:
        typer.echo("the folder has no files yet; those that come are served too", err=True)
        return
    files.sort()
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    typer.echo(f"serving {count}, {bytes_text(size)}: {printable(', '.join(files[:SHOWN]))}{more}", err=True)
    typer.echo(f"one of them: {command_for(_core.url_with_name(url, files[0]))}", err=True)


def served(address: str, taken: int) -> None:
    """Report a connection that has ended."""
    typer.echo(f"{address} took {bytes_text(taken)}", err=True)
