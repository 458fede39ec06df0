"""Lines to an exit: the options of commands that have them, and what they say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.commands.text import printable
from anabranch.commands.tokens import read_token
from anabranch.commands.via import via_names
from anabranch.errors import ScenarioError

Url = Annotated[str, typer.Argument(help="The URL that the exit prints: anabranch://HOST:PORT/?pin=...")]

Backup = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Addresses or interfaces whose paths are used while none of --via works."),
]

Authorities = Annotated[
    Path | None,
    typer.Option(help="PEM file of the authorities that signed the exit's certificate, instead of a fingerprint."),
]

Capacity = Annotated[
    str | None,
    typer.Option(
        metavar="RATE",
        help="What the lines carry, for controls that use it, and the most that is sent: a rate, file:PATH, "
        "interface:NAME or socket:PATH.",
    ),
]

CONTROL = "lia"
"""The default congestion control, in both directions."""

Shows = tuple[str | None, tuple[Path, Path] | None]
"""What an exit knows its client by: a token, and the files of a certificate and its key; either, or both."""

NextExit = tuple[str, Path | None, list[str], list[str], Shows, str, str | None]


def shown(token_file: Path | None, certificate: Path | None, key: Path | None, prefix: str = "") -> Shows:
    """Give what is shown to an exit, by options whose names begin with a prefix.

    Raises
    ------
    ScenarioError
        There is nothing to show, or half of a certificate and its key.
    """
    if (certificate is None) != (key is None):
        raise ScenarioError(f"--{prefix}certificate and --{prefix}key go together; give both, or neither")
    if token_file is None and certificate is None:
        raise ScenarioError(
            f"the exit knows its clients by a token or a certificate; give --{prefix}token-file, or "
            f"--{prefix}certificate and --{prefix}key"
        )
    pair = None if certificate is None or key is None else (certificate, key)
    return None if token_file is None else read_token(token_file), pair


def next_exit(
    url: str,
    authorities: Path | None,
    places: tuple[str | None, str | None],
    shows: Shows,
    sending: tuple[str, str | None],
) -> NextExit:
    """Give an exit with the addresses or interfaces of --via and --backup, and with a control and a capacity."""
    paths, backups = map(via_names, places)
    if backups and not paths:
        raise ScenarioError("--backup names what stands in for the paths of --via, so name these, too")
    return url, authorities, paths, backups, shows, *sending


def tell(kind: str, lines: list[str]) -> None:
    """Say how lines are: `up` with the open paths, `down` with the reason, or what control the exit `sends` under."""
    if kind == "down":
        typer.echo(f"no connection to the exit: {printable(lines[0])}", err=True)
    elif kind == "sends":
        typer.echo(f"the exit sends under {lines[0]}, and not under the control that is named here", err=True)
    else:
        typer.echo(f"connected over {', '.join(lines)}" if lines else "connected, and no path is open now", err=True)
