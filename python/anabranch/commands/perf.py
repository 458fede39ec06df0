"""``anabranch perf``: the throughput between two machines, over all paths between them."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.groups import Groups, path_groups
from anabranch.errors import NoLivePartError
from anabranch.transfer.files import check_groups

HELP = """Measure the throughput between two machines, over several paths, from memory to memory.

On one machine `anabranch perf --serve 0.0.0.0:4433` prints the URL to measure with; on the other `anabranch perf URL`
sends for 10 s. The URL contains the fingerprint of the server's certificate, which the client checks. --via takes
addresses or interfaces of this machine, with a path over each. Ctrl-C ends both.
"""

LOOK_S = 0.1
"""The time between two checks for Ctrl-C."""

TIME_S = 10.0
"""The default duration of a measurement."""

STREAMS = 8
"""The default number of streams, enough for a path of 16 MB: a stream has at most 2 MB in flight."""


CONTROLS = _core.live_controls() if _core.HAS_LIVE else []
MOST_STREAMS = _core.MOST_PERF_STREAMS if _core.HAS_LIVE else None
"""The most streams that the build allows, if it has a live part."""


def command(
    url: Annotated[
        str | None, typer.Argument(help="The URL that the server prints: anabranch://HOST:PORT/?pin=...")
    ] = None,
    serve: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Serve at this address and port, such as 0.0.0.0:4433.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="With --serve: the host name in the URL.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="With --serve: a PEM file with a certificate. Default: a new one.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="With --serve: a PEM file with the key of the certificate.")] = None,
    via: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Addresses or interfaces, with a path over each; A=PEER connects to PEER."),
    ] = None,
    control: Annotated[str, typer.Option(help=f"Congestion control of the sender: {', '.join(CONTROLS)}.")] = "lia",
    groups: Groups = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Measure the other direction: the server sends.")] = False,
    time: Annotated[str | None, typer.Option(help="Time to send, such as 10s.")] = None,
    amount: Annotated[str | None, typer.Option(help="Amount to send, such as 1GB.")] = None,
    streams: Annotated[int, typer.Option(min=1, max=MOST_STREAMS, help="Number of streams at a time.")] = STREAMS,
    authorities: Annotated[
        Path | None,
        typer.Option(
            help="PEM file of the authorities that signed the server's certificate, instead of a fingerprint."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in iperf3's format.")] = False,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if (url is None) == (serve is None):
        raise ValueError("perf needs either the URL of a server, or --serve ADDRESS to be one")
    if serve is not None:
        _serve(_core.Perf.serve(serve, name or _own_name(serve), certificate, key))
        return
    assert url is not None
    seconds = TIME_S if time is None and amount is None else None if time is None else _core.parse_span(time)
    measurement = _core.Perf.measure(
        url,
        [] if via is None else [name.strip() for name in via.split(",")],
        control,
        reverse,
        seconds,
        None if amount is None else int(_core.parse_bytes(amount)),
        streams,
        authorities,
        check_groups(path_groups(groups)),
    )
    _measure(measurement, as_json=as_json)


def _own_name(address: str) -> str | None:
    """Give a host name for the URL, if this machine serves at all of its addresses."""
    return socket.gethostname() if address.rpartition(":")[0] in {"0.0.0.0", "[::]"} else None


def _serve(server: _core.Perf) -> None:
    # Ctrl-C is how a server ends, and no failure.
    with suppress(KeyboardInterrupt):
        try:
            while True:
                told = server.wait(LOOK_S)
                if told is not None:
                    typer.echo(told[1])
        finally:
            server.stop()


def _measure(measurement: _core.Perf, *, as_json: bool) -> None:
    try:
        while True:
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
