"""``anabranch exit``: the far side of proxies, where connections of applications leave for their targets."""

from __future__ import annotations

import shlex
import socket
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.text import printable
from anabranch.commands.tokens import kept_token
from anabranch.errors import NoLivePartError
from anabranch.number_labels import bytes_text
from anabranch.transfer.files import identity_file

HELP = """Be the exit of proxies: connect to targets for them.

`anabranch proxy` on another machine carries connections of its programs to here over several paths. Clients have to
show the token in --token-file; the file is made if it does not exist. Without --allow all public addresses are
allowed, and no others: clients do not reach this machine and private networks through it. Names are looked up here.

The exit speaks HTTP/3 with CONNECT, so that other clients can use it too. Ctrl-C ends it.
"""

PORT = 4434
"""The UDP port of exits."""

LOOK_S = 0.1
"""The time between two checks for Ctrl-C."""

CONTROL = "lia"
"""The default congestion control of what is sent to proxies."""


def command(
    token_file: Annotated[Path, typer.Option(help="File with the token of clients; made if it does not exist.")],
    listen: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS:PORT", help=f"Address to listen at. Repeatable. Default: 0.0.0.0:{PORT}."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGETS",
            help="Targets that are allowed: public, 10.0.0.0/8, example.org or *.example.org, a port behind a colon "
            "allows this one alone. Repeatable. Default: public.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name or address to put into the URL.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="PEM file with the certificate of this machine.")] = None,
    key: Annotated[Path | None, typer.Option(help="PEM file with the key of the certificate.")] = None,
    control: Annotated[
        str, typer.Option("--control", "-C", help="Congestion control towards clients that name none.")
    ] = CONTROL,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if (certificate is None) != (key is None):
        raise ValueError("a certificate and its key go together; give both, or neither")
    addresses = listen or [f"0.0.0.0:{PORT}"]
    host = name or (socket.gethostname() if addresses[0].startswith(("0.0.0.0:", "[::]:")) else None)
    token = kept_token(token_file)
    own = _core.Exit(addresses, certificate or identity_file(), key, host, [token], allow or [], control)
    # Ctrl-C is how an exit ends, and no failure.
    with suppress(KeyboardInterrupt):
        try:
            while True:
                url, left = own.wait(LOOK_S) or (None, None)
                if url is not None:
                    typer.echo(f"anabranch proxy {shlex.quote(url)} --token-file {shlex.quote(token_file.name)}")
                    typer.echo(f"the token in {printable(str(token_file))} goes to the other machine", err=True)
                if left is not None:
                    typer.echo(_line(*left), err=True)
        finally:
            own.stop()


def _line(address: str, is_known: bool, connections: int, sent: int, received: int) -> str:
    """Say what a client has done."""
    if not is_known:
        return f"{address} did not show the token"
    count = "1 connection" if connections == 1 else f"{connections} connections"
    return f"{address} had {count}: {bytes_text(sent)} to targets, {bytes_text(received)} from them"
