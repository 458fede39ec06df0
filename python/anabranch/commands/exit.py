"""``anabranch exit``: the far side of proxies, where connections of applications leave for their targets."""

from __future__ import annotations

import shlex
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch import _core
from anabranch.commands.clients import ClientAuthorities, ClientGrants, Clients, TokenFile, accounts
from anabranch.commands.descriptors import allow_many
from anabranch.commands.lines import Lines, following
from anabranch.commands.qlog import QlogFolder, kept_logs, say_trouble
from anabranch.commands.text import printable
from anabranch.commands.uplink import tell
from anabranch.commands.usage import Usage
from anabranch.commands.watching import Watch, WatchOpen, say_where, watched_at
from anabranch.errors import NoLivePartError
from anabranch.number_labels import bytes_text
from anabranch.transfer.files import identity_file

if TYPE_CHECKING:
    from anabranch._core import _Account

HELP = """Be the exit of proxies: connect to targets for them.

`anabranch proxy` on another machine carries connections of its programs to here over several paths. Clients have to
show the token in --token-file, which is made if it does not exist, or a certificate by --client-authorities. Where
clients have limits of their own, name them in a file by --clients. Without --allow all public addresses are allowed,
and no others: clients do not reach this machine and private networks through it. Names are looked up here.

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
    client_authorities: ClientAuthorities = None,
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
    qlog: QlogFolder = None,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    place = place_of(listen, name, certificate, key)
    known, usage, grants = accounts(token_file, clients, client_authorities, with_targets=True)
    watching = watched_at(watch, watch_open)
    allow_many()
    device = tun_of(tun, tun_network)
    with kept_logs(qlog) as logs, ExitStack() as stack:
        beside = Beside(usage, ClientGrants(grants, stack), logs)
        own = _core.Exit(
            *place,
            known,
            client_authorities,
            allow or [],
            control,
            watching,
            None,
            client_control,
            client_capacity,
            None,
            beside.grants.first(),
            device,
            logs,
        )
        serve(own, known, token_file, beside)


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


@dataclass
class Beside:
    """What goes on beside an exit or a relay: what clients have used, what is granted to them, logs, and lines."""

    usage: Usage | None
    grants: ClientGrants
    logs: _core.Qlog | None
    lines: Lines | None = None


def serve(own: _core.Exit, known: list[_Account], token_file: Path | None, beside: Beside) -> None:
    """Say what an exit or a relay does, until Ctrl-C; that is how it ends, and no failure."""
    kinds: set[str] = {shows[0] for _, shows, *_ in known}
    options, advice = _hint(kinds, token_file)

    def keep(is_end: bool) -> None:
        if beside.usage is not None:
            beside.usage.follow(own, at_once=is_end)

    with suppress(KeyboardInterrupt), following(own, beside.lines, keep) as follow:
        while True:
            kind, texts, left = own.wait(LOOK_S) or (None, [], None)
            follow()
            beside.grants.follow(own)
            say_trouble(beside.logs)
            if kind == "serving":
                typer.echo(f"anabranch proxy {shlex.quote(texts[0])} {options}")
                typer.echo(advice, err=True)
            elif kind == "shown":
                say_where(texts[0])
            elif left is not None:
                typer.echo(_line(kinds, *left), err=True)
            elif kind is not None:
                tell(kind, texts)


def _hint(kinds: set[str], token_file: Path | None) -> tuple[str, str]:
    """Say by which options a proxy is known here, and what it needs for them."""
    if token_file is not None:
        return f"--token-file {shlex.quote(token_file.name)}", (
            f"the token in {printable(str(token_file))} goes to the other machine"
        )
    if "token" in kinds:
        return "--token-file NAME.token", "its token goes to each client"
    return "--certificate NAME.pem --key NAME.key", "each client has a certificate that is known here, and its key"


def _line(kinds: set[str], client: str, is_known: bool, connections: int, sent: int, received: int) -> str:
    """Say what a client has done."""
    if not is_known:
        what = "a token or a certificate that is known" if "certificate" in kinds else "the token"
        return f"{client} did not show {what}"
    count = "1 connection" if connections == 1 else f"{connections} connections"
    return f"{client} had {count}: {bytes_text(sent)} to targets, {bytes_text(received)} from them"
