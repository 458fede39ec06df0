"""``anabranch proxy``: connections of any program, carried over several paths to an exit."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.descriptors import allow_many
from anabranch.commands.grants import Demand, Grant
from anabranch.commands.groups import Groups
from anabranch.commands.lines import Limits, Metered, MeteredFile, Redundant, Weights, following, read_lines, with_grant
from anabranch.commands.qlog import QlogFolder, kept_logs, say_trouble
from anabranch.commands.text import printable
from anabranch.commands.tokens import read_password
from anabranch.commands.uplink import CONTROL, Authorities, Backup, Capacity, Url, next_exit, shown, tell
from anabranch.commands.via import Via
from anabranch.commands.watching import Watch, WatchOpen, say_where, watched_at
from anabranch.errors import NoLivePartError

HELP = """Carry connections of any program over several paths to an exit.

Programs use it by SOCKS 5 or as a proxy for HTTP: `curl -x socks5h://127.0.0.1:1080 ...` or
`https_proxy=http://127.0.0.1:3128 curl ...`. `anabranch exit` on the other machine prints the command to begin with.
--via takes addresses or interfaces of this machine, with a path over each. Names are looked up at the exit. Ctrl-C ends
it.
"""

SOCKS, HTTP = "127.0.0.1:1080", "127.0.0.1:3128"
"""The default addresses for programs."""

LOOK_S = 0.1
"""The time between two checks for Ctrl-C."""


def command(
    url: Url,
    token_file: Annotated[Path | None, typer.Option(help="File with the token of the exit.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="PEM file with a certificate by which the exit knows this proxy.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="PEM file with the key of the certificate.")] = None,
    via: Via = None,
    backup: Backup = None,
    control: Annotated[str, typer.Option("--control", "-C", help="Congestion control in both directions.")] = CONTROL,
    socks: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS:PORT", help=f"Address for SOCKS 5. Repeatable. Default: {SOCKS}."),
    ] = None,
    http: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS:PORT", help=f"Address for HTTP. Repeatable. Default: {HTTP}."),
    ] = None,
    transparent: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS:PORT", help="Address to which the kernel redirects connections. Repeatable."),
    ] = None,
    password_file: Annotated[
        Path | None,
        typer.Option(help="File with name:password for programs; other machines can use the proxy only with these."),
    ] = None,
    tun: Annotated[
        str | None, typer.Option(metavar="NAME", help="TUN device whose packets leave at the exit; made if need be.")
    ] = None,
    authorities: Authorities = None,
    capacity: Capacity = None,
    groups: Groups = None,
    limit: Limits = None,
    weight: Weights = None,
    redundant: Redundant = False,
    metered: Metered = None,
    metered_file: MeteredFile = None,
    grant: Grant = None,
    demand: Demand = None,
    watch: Watch = None,
    watch_open: WatchOpen = False,
    qlog: QlogFolder = None,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    exit_ = next_exit(url, authorities, (via, backup), shown(token_file, certificate, key), (control, capacity))
    password = None if password_file is None else read_password(password_file)
    asked = socks or http or transparent or tun
    doors = (socks or [], http or [], transparent or []) if asked else ([SOCKS], [HTTP], [])
    lines = read_lines((via, backup), (limit, weight, metered), metered_file, groups, is_redundant=redundant)
    allow_many()
    watching = watched_at(watch, watch_open)
    # Ctrl-C is how a proxy ends, and no failure.
    with kept_logs(qlog) as logs, suppress(KeyboardInterrupt), ExitStack() as stack:
        said = with_grant(lines, grant, demand, "proxy", stack).said()
        own = _core.Proxy(exit_, *doors, password, tun, watching, said, logs)
        with following(own, lines) as follow:
            while True:
                told = own.wait(LOOK_S)
                follow()
                say_trouble(logs)
                if told is not None:
                    _tell(*told)


def _tell(kind: str, lines: list[str]) -> None:
    """Say where programs are served, and how the connection to the exit is."""
    if kind in ("socks", "http"):
        scheme = "socks5h" if kind == "socks" else "http"
        typer.echo(f"{scheme}://{lines[0]}")
    elif kind == "transparent":
        typer.echo(f"redirected connections at {lines[0]}")
    elif kind == "tunnel":
        typer.echo(f"{lines[0]} has {' and '.join(lines[1:]) or 'no address'}")
    elif kind == "no-tunnel":
        typer.echo(f"no IP packets pass: {printable(lines[0])}", err=True)
    elif kind == "shown":
        say_where(lines[0])
    else:
        tell(kind, lines)
