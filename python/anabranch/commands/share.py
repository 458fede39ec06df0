"""``anabranch share``: the files of a folder, or one, for whoever fetches them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch.number_labels import bytes_text
from anabranch.transfer.files import PORT, share

HELP = """Share the files of a folder, or one file, read-only, over QUIC.

Prints the URL for `anabranch fetch`; where it is a folder that is shared, put the name of a file for NAME. The URL has
the fingerprint by which a fetcher knows this machine; --certificate and --key take one that others have signed instead.
The URL of a single file also has its hash, so a large file is read for some time before its URL is printed.
Whoever reaches the port can read the files. Ctrl-C ends it.
"""


LARGE_BYTES = 1_000_000_000
"""From so many bytes on reading a file takes so long that it is told of."""

Listen = Annotated[
    list[str] | None,
    typer.Option(metavar="ADDRESS:PORT", help=f"Where; the first is in the URL. Repeatable. Default: 0.0.0.0:{PORT}."),
]
Host = Annotated[str | None, typer.Option(help="Name or address to put into the URL.")]
Certificate = Annotated[Path | None, typer.Option(help="Who this machine is, in PEM.")]
Key = Annotated[Path | None, typer.Option(help="Its private key, in PEM.")]


def command(
    path: Annotated[Path, typer.Argument(help="Folder or file; nothing else is served, whatever names or links say.")],
    listen: Listen = None,
    host: Host = None,
    certificate: Certificate = None,
    key: Key = None,
) -> None:
    """Run `HELP`."""

    def ready(url: str) -> None:
        typer.echo(url.replace("/?", "/NAME?", 1))

    tell_of_reading(path)
    # Ctrl-C is how a sharer ends, and no failure.
    with suppress(KeyboardInterrupt):
        share(
            path,
            listen=listen or (f"0.0.0.0:{PORT}",),
            host=host,
            certificate=certificate,
            key=key,
            ready=ready,
            served=served,
        )


def tell_of_reading(file: Path) -> None:
    """Say that a file is read before its URL is printed, if that may take long."""
    if file.is_file() and (size := file.stat().st_size) >= LARGE_BYTES:
        typer.echo(f"reading {file} ({bytes_text(size)}): its URL has its hash", err=True)


def served(address: str, taken: int) -> None:
    """Tell of a connection that has ended."""
    typer.echo(f"{address} took {bytes_text(taken)}", err=True)
