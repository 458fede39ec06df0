"""``anabranch relay``: a hop between proxies and their exit."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.clients import ClientAuthorities, ClientGrants, Clients, TokenFile, accounts
from anabranch.commands.exit import (
    Beside,
    Certificate,
    ClientCapacity,
    ClientControl,
    Key,
    Listen,
    Name,
    place_of,
    serve,
)
from anabranch.commands.grants import Demand, Grant
from anabranch.commands.groups import Groups
from anabranch.commands.lines import Limits, Metered, MeteredFile, Redundant, Weights, read_lines, with_grant
from anabranch.commands.qlog import QlogFolder, kept_logs
from anabranch.commands.uplink import CONTROL, Authorities, Backup, Capacity, Url, next_exit, shown
from anabranch.commands.via import Via
from anabranch.commands.watching import Watch, WatchOpen, watched_at
from anabranch.errors import NoLivePartError

HELP = """Stand between proxies and their exit: end their connections, and begin others.

To proxies a relay is an exit, and to the exit it is a proxy, so that chains may have any length. Each loop has a
congestion control of its own, which sees its own losses and round trips alone. What waits here has a bound, and a
sender of more is held up. A relay reads what passes, as an exit does. Ctrl-C ends it.
"""


def command(
    url: Url,
    exit_token_file: Annotated[
        Path | None, typer.Option(help="File with the token of the exit, or of the next relay.")
    ] = None,
    exit_certificate: Annotated[
        Path | None,
        typer.Option(help="PEM file with a certificate by which the exit, or the next relay, knows this one."),
    ] = None,
    exit_key: Annotated[Path | None, typer.Option(help="PEM file with the key of that certificate.")] = None,
    token_file: TokenFile = None,
    clients: Clients = None,
    client_authorities: ClientAuthorities = None,
    via: Via = None,
    backup: Backup = None,
    control: Annotated[str, typer.Option("--control", "-C", help="Congestion control to the exit and back.")] = CONTROL,
    listen: Listen = None,
    name: Name = None,
    certificate: Certificate = None,
    key: Key = None,
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
    client_control: ClientControl = None,
    client_capacity: ClientCapacity = None,
    watch: Watch = None,
    watch_open: WatchOpen = False,
    qlog: QlogFolder = None,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    shows = shown(exit_token_file, exit_certificate, exit_key, "exit-")
    exit_ = next_exit(url, authorities, (via, backup), shows, (control, capacity))
    place = place_of(listen, name, certificate, key)
    known, usage, grants = accounts(token_file, clients, client_authorities, with_targets=False)
    watching = watched_at(watch, watch_open)
    lines = read_lines((via, backup), (limit, weight, metered), metered_file, groups, is_redundant=redundant)
    with kept_logs(qlog) as logs, ExitStack() as stack:
        said = with_grant(lines, grant, demand, "relay", stack).said()
        beside = Beside(usage, ClientGrants(grants, stack), logs, lines)
        first = beside.grants.first()
        own = _core.Exit(
            *place,
            known,
            client_authorities,
            [],
            CONTROL,
            watching,
            exit_,
            client_control,
            client_capacity,
            said,
            first,
            None,
            logs,
        )
        serve(own, known, token_file, beside)
