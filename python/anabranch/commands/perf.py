"""``anabranch perf``: the throughput between two machines, over all paths between them."""

from __future__ import annotations

import shlex
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch import _core
from anabranch.commands.grants import Demand, Grant, granted, links_over
from anabranch.commands.groups import Groups, path_groups
from anabranch.commands.qlog import QlogFolder, kept_logs, say_trouble
from anabranch.commands.via import Via, via_names
from anabranch.errors import NoLivePartError
from anabranch.transfer.files import check_groups

if TYPE_CHECKING:
    from collections.abc import Callable

HELP = """Measure the throughput between two machines, over several paths, from memory to memory.

On one machine `anabranch perf -s` prints the URL to measure with; on the other `anabranch perf URL` sends for 10 s. The
URL contains the fingerprint of the server's certificate, which the client checks. --via takes addresses or interfaces
of this machine, with a path over each. Ctrl-C ends both. Short options mean what they mean in iperf3.
"""

LOOK_S = 0.1
"""The time between two checks for Ctrl-C."""

TIME_S = 10.0
"""The default duration of a measurement."""

PORT = 4433
"""The port of a server, if none is given."""

CONTROL = "lia"
"""The default congestion control of the sender."""

STREAMS = 8
"""The default number of streams, enough for a path of 16 MB: a stream has at most 2 MB in flight."""


CONTROLS = _core.live_controls() if _core.HAS_LIVE else []
MOST_STREAMS = _core.MOST_PERF_STREAMS if _core.HAS_LIVE else None
"""The most streams that the build allows, if it has a live part."""


def command(
    url: Annotated[
        str | None, typer.Argument(help="The URL that the server prints: anabranch://HOST:PORT/?pin=...")
    ] = None,
    client: Annotated[
        str | None, typer.Option("-c", metavar="URL", help="Measure with the server of this URL, as without -c.")
    ] = None,
    serve: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Serve at this address and port, such as 0.0.0.0:4433.")
    ] = None,
    server: Annotated[bool, typer.Option("-s", help="Serve at all addresses of this machine.")] = False,
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="The port of -s.")] = PORT,
    name: Annotated[str | None, typer.Option(help="With --serve or -s: the host name in the URL.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="With --serve: a PEM file with a certificate. Default: a new one.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="With --serve: a PEM file with the key of the certificate.")] = None,
    via: Via = None,
    control: Annotated[
        str,
        typer.Option(
            "--control",
            "-C",
            autocompletion=lambda incomplete: [name for name in CONTROLS if name.startswith(incomplete)],
            help=f"Congestion control of the sender: {', '.join(CONTROLS)}.",
        ),
    ] = CONTROL,
    groups: Groups = None,
    grant: Grant = None,
    demand: Demand = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", "-R", help="Measure the other direction: the server sends.")
    ] = False,
    time: Annotated[
        str | None, typer.Option("--time", "-t", metavar="TIME", help="Time to send: 10 (seconds), 10s, 500ms.")
    ] = None,
    amount: Annotated[
        str | None, typer.Option("--amount", "-n", metavar="SIZE", help="Amount to send, such as 1GB.")
    ] = None,
    streams: Annotated[
        int, typer.Option("--streams", "-P", min=1, max=MOST_STREAMS, help="Number of streams at a time.")
    ] = STREAMS,
    authorities: Annotated[
        Path | None,
        typer.Option(
            help="PEM file of the authorities that signed the server's certificate, instead of a fingerprint."
        ),
    ] = None,
    qlog: QlogFolder = None,
    as_json: Annotated[bool, typer.Option("--json", "-J", help="Print JSON in iperf3's format.")] = False,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if client is not None:
        if url is not None:
            raise ValueError("there are two URLs; give one, with -c or without")
        url = client
    if server:
        if serve is not None:
            raise ValueError("-s serves at all addresses, and --serve at one; give one of them")
        serve = f"0.0.0.0:{port}"
    if (url is None) == (serve is None):
        raise ValueError("perf needs either the URL of a server, or -s or --serve ADDRESS to be one")
    if serve is not None:
        of_client = {
            "--via": via,
            "--control": control != CONTROL,
            "--groups": groups,
            "--grant": grant,
            "--demand": demand,
            "--reverse": reverse,
            "--time": time,
            "--amount": amount,
            "--streams": streams != STREAMS,
            "--authorities": authorities,
            "--json": as_json,
        }
        if given := [option for option, value in of_client.items() if value]:
            raise ValueError(f"a server does what its clients ask for; give {', '.join(given)} to `anabranch perf URL`")
        with kept_logs(qlog) as logs:
            _serve(_core.Perf.serve(serve, name or _own_name(serve), certificate, key, logs), logs)
        return
    assert url is not None
    seconds = TIME_S if time is None and amount is None else None if time is None else _seconds(time)
    paths = via_names(via)
    numbers, follow = path_groups(groups, paths, fetches=reverse)
    with ExitStack() as stack:
        logs = stack.enter_context(kept_logs(qlog))
        rates = granted(grant, demand, "perf", stack, paths=max(len(paths), 2))
        measurement = _core.Perf.measure(
            url,
            paths,
            control,
            reverse,
            seconds,
            None if amount is None else int(_core.parse_bytes(amount)),
            streams,
            authorities,
            check_groups(numbers),
            logs,
        )
        links = None if grant is None or reverse else links_over(grant.rpartition(":")[0], paths)

        def keep() -> None:
            if rates is not None:
                measurement.limit(rates.total_bps(), [] if links is None else rates.paths_bps(links))
            if follow is not None:
                measurement.regroup(follow())

        _measure(measurement, keep, as_json=as_json)


def _seconds(time: str) -> float:
    """Give a time in seconds; a number without a unit is in seconds, as in iperf3."""
    try:
        return _core.parse_span(f"{float(time)} s")
    except ValueError:
        return _core.parse_span(time)


def _own_name(address: str) -> str | None:
    """Give a host name for the URL, if this machine serves at all of its addresses."""
    return socket.gethostname() if address.rpartition(":")[0] in {"0.0.0.0", "[::]"} else None


def _serve(server: _core.Perf, logs: _core.Qlog | None) -> None:
    # Ctrl-C is how a server ends, and no failure.
    with suppress(KeyboardInterrupt):
        try:
            while True:
                told = server.wait(LOOK_S)
                say_trouble(logs)
                if told is None:
                    continue
                typer.echo(told[1])
                if told[1].startswith("anabranch://"):
                    typer.echo(f"on the other machine: anabranch perf {shlex.quote(told[1])}", err=True)
        finally:
            server.stop()


def _measure(measurement: _core.Perf, keep: Callable[[], None], *, as_json: bool) -> None:
    try:
        while True:
            keep()
            told = measurement.wait(LOOK_S)
            if told is None:
                continue
            kind, text, report = told
            if kind == "measured":
                typer.echo(report if as_json else text)
                return
            if not as_json:
                typer.echo(text)
    finally:
        measurement.stop()
