"""``anabranch relay``: a hop between proxies and their exit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.clients import Clients, TokenFile, accounts
from anabranch.commands.exit import (
    Certificate,
    ClientCapacity,
    ClientControl,
    Key,
    Listen,
    Name,
    place_of,
    serve,
)
from anabranch.commands.uplink import CONTROL, Authorities, Backup, Capacity, Url, next_exit
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
    exit_token_file: Annotated[Path, typer.Option(help="File with the token of the exit, or of the next relay.")],
    token_file: TokenFile = None,
    clients: Clients = None,
    via: Via = None,
    backup: Backup = None,
    control: Annotated[str, typer.Option("--control", "-C", help="Congestion control to the exit and back.")] = CONTROL,
    listen: Listen = None,
    name: Name = None,
    certificate: Certificate = None,
    key: Key = None,
    authorities: Authorities = None,
    capacity: Capacity = None,
    client_control: ClientControl = None,
    client_capacity: ClientCapacity = None,
    watch: Watch = None,
    watch_open: WatchOpen = False,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    exit_ = next_exit(url, authorities, (via, backup), exit_token_file, (control, capacity))
    place = place_of(listen, name, certificate, key)
    (known, usage), shown = accounts(token_file, clients, with_targets=False), watched_at(watch, watch_open)
    own = _core.Exit(*place, known, [], CONTROL, shown, exit_, client_control, client_capacity, None)
    serve(own, token_file, usage)
