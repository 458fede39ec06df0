"""``anabranch exit``: the far side of proxies, where connections of applications leave for their targets."""

from __future__ import annotations

import shlex
import socket
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.clients import Clients, TokenFile, accounts
from anabranch.commands.descriptors import allow_many
from anabranch.commands.text import printable
from anabranch.commands.uplink import tell
from anabranch.commands.usage import Usage
from anabranch.commands.watching import Watch, WatchOpen, say_where, watched_at
from anabranch.errors import NoLivePartError
from anabranch.interrupts import held_interrupts
from anabranch.number_labels import bytes_text
from anabranch.transfer.files import identity_file

HELP = """Be the exit of proxies: connect to targets for them.

`anabranch proxy` on another machine carries connections of its programs to here over several paths. Clients have to
show the token in --token-file; the file is made if it does not exist. Where clients have limits of their own, name
them in a file by --clients. Without --allow all public addresses are allowed, and no others: clients do not reach
this machine and private networks through it. Names are looked up here.

The exit speaks HTTP/3 with CONNECT, so that other clients can use it too. Ctrl-C ends it.
"""

PORT = 4434
"""The UDP port of exits."""

LOOK_S = 0.1
"""The time between two checks for Ctrl-C."""

NETWORK = "10.77.0.0/16,fd77::/64"
"""The default networks of clients of a TUN device."""

CONTROL = "lia"
"""The default congestion control of what is sent to proxies."""


Listen = Annotated[
    list[str] | None,
    typer.Option(metavar="ADDRESS:PORT", help=f"Address to listen at. Repeatable. Default: 0.0.0.0:{PORT}."),
]
Name = Annotated[str | None, typer.Option(help="Name or address to put into the URL.")]
Certificate = Annotated[Path | None, typer.Option(help="PEM file with the certificate of this machine.")]
Key = Annotated[Path | None, typer.Option(help="PEM file with the key of the certificate.")]
ClientControl = Annotated[
    str | None, typer.Option(help="Congestion control of what is sent to proxies, instead of the one that they name.")
]
ClientCapacity = Annotated[
    str | None, typer.Option(metavar="RATE", help="What the lines to each client carry, as --capacity of a proxy.")
]


def command(
    token_file: TokenFile = None,
    clients: Clients = None,
    listen: Listen = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGETS",
            help="Targets that are allowed: public, 10.0.0.0/8, example.org or *.example.org, a port behind a colon "
            "allows this one alone. Repeatable. Default: public.",
        ),
    ] = None,
    name: Name = None,
    certificate: Certificate = None,
    key: Key = None,
    control: Annotated[
        str, typer.Option("--control", "-C", help="Congestion control towards clients that name none.")
    ] = CONTROL,
    client_control: ClientControl = None,
    client_capacity: ClientCapacity = None,
    tun: Annotated[
        str | None, typer.Option(metavar="NAME", help="TUN device over which IP packets of clients leave.")
    ] = None,
    tun_network: Annotated[
        str | None,
        typer.Option(
            metavar="NETWORKS",
            help=f"Networks from which clients of --tun have addresses: one of IPv4, one of IPv6. Default: {NETWORK}.",
        ),
    ] = None,
    watch: Watch = None,
    watch_open: WatchOpen = False,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    place = place_of(listen, name, certificate, key)
    (known, usage), shown = accounts(token_file, clients, with_targets=True), watched_at(watch, watch_open)
    allow_many()
    device = tun_of(tun, tun_network)
    own = _core.Exit(*place, known, allow or [], control, shown, None, client_control, client_capacity, device)
    serve(own, token_file, usage)


def tun_of(name: str | None, networks: str | None) -> tuple[str, list[str]] | None:
    """Give a device with the networks of its clients, if there is one."""
    if name is None:
        if networks is not None:
            raise ValueError("--tun-network is for clients of a TUN device; name one by --tun")
        return None
    return name, [network.strip() for network in (networks or NETWORK).split(",")]


def place_of(
    listen: list[str] | None, name: str | None, certificate: Path | None, key: Path | None
) -> tuple[list[str], Path, Path | None, str | None]:
    """Give the addresses of an exit, the files of its identity, and its name if it is not its address."""
    if (certificate is None) != (key is None):
        raise ValueError("a certificate and its key go together; give both, or neither")
    addresses = listen or [f"0.0.0.0:{PORT}"]
    is_any = addresses[0].startswith(("0.0.0.0:", "[::]:"))
    return addresses, certificate or identity_file(), key, name or (socket.gethostname() if is_any else None)


def serve(own: _core.Exit, token_file: Path | None, usage: Usage | None) -> None:
    """Say what an exit or a relay does, until Ctrl-C; that is how it ends, and no failure."""
    name = "NAME.token" if token_file is None else shlex.quote(token_file.name)
    secret = "its token" if token_file is None else f"the token in {printable(str(token_file))}"
    machine = "each client" if token_file is None else "the other machine"
    with suppress(KeyboardInterrupt):
        try:
            while True:
                kind, lines, left = own.wait(LOOK_S) or (None, [], None)
                if usage is not None:
                    usage.follow(own)
                if kind == "serving":
                    typer.echo(f"anabranch proxy {shlex.quote(lines[0])} --token-file {name}")
                    typer.echo(f"{secret} goes to {machine}", err=True)
                elif kind == "shown":
                    say_where(lines[0])
                elif left is not None:
                    typer.echo(_line(*left), err=True)
                elif kind is not None:
                    tell(kind, lines)
        finally:
            with held_interrupts():
                own.stop()
                if usage is not None:
                    usage.follow(own, at_once=True)


def _line(client: str, is_known: bool, connections: int, sent: int, received: int) -> str:
    """Say what a client has done."""
    if not is_known:
        return f"{client} did not show the token"
    count = "1 connection" if connections == 1 else f"{connections} connections"
    return f"{client} had {count}: {bytes_text(sent)} to targets, {bytes_text(received)} from them"
