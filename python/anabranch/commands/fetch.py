"""``anabranch fetch``: a file from several sharers, over several paths."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from anabranch.commands.groups import Groups, path_groups
from anabranch.commands.text import printable, rate_text
from anabranch.number_labels import bytes_text
from anabranch.transfer.files import Fetched, FetchState, fetch
from anabranch.transfer.iperf import iperf_report

if TYPE_CHECKING:
    from collections.abc import Callable

HELP = """Fetch a file over several paths, and from several servers at once.

Every chunk is verified when it arrives; a server that sends wrong data is left out. Servers with different files are
refused, unless --hash or a URL says which file is wanted. After Ctrl-C or a crash the same command continues, with the
data received until then. --control names the window protocol of the paths. A coupled one, such as the default, takes no
more from other connections than a single path would; `anabranch perf --help` lists all.
"""

INTERRUPTED = 130
PATIENCE_S = 60.0

RATED_S = 1.0
"""Rates are shown over so long."""

BAR_WIDTH = 40

NOTHING = {
    "awaited": "it had not answered by then",
    "preparing": "it was still reading the file",
    "waiting": "it was not asked for anything",
    "sending": "the others were faster, or it was silent",
}
"""Why a source has brought nothing, by how it stood at the end."""


def command(
    urls: Annotated[
        list[str], typer.Argument(metavar="URL...", help="The URLs that `anabranch share` or `send` prints.")
    ],
    to: Annotated[
        Path | None, typer.Option(help="Folder or new file. Default: the file's name, in this folder.")
    ] = None,
    control: Annotated[str, typer.Option(help="Window protocol (congestion control) of the paths.")] = "lia",
    via: Annotated[
        str | None,
        typer.Option(
            metavar="IF1,IF2", help="Local interfaces or addresses, with a path over each; IF=PEER connects to PEER."
        ),
    ] = None,
    groups: Groups = None,
    file_hash: Annotated[
        str | None,
        typer.Option(
            "--hash", help="BLAKE3 hash of the file. Default: the hash in a URL; without one all servers must agree."
        ),
    ] = None,
    authorities: Annotated[
        Path | None, typer.Option(help="PEM file of certificates to trust, for URLs without a fingerprint.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Time in seconds without a reachable server after which the fetch ends.")
    ] = PATIENCE_S,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in iperf3's format: the rate of each path in each second.")
    ] = False,
) -> None:
    """Run `HELP`."""
    states: list[FetchState] = []
    with _Bar(Console(stderr=True)) as show:

        def tell(state: FetchState) -> None:
            states.append(state)
            show(state)

        try:
            fetched = fetch(
                urls,
                to,
                control=control,
                via=via.split(",") if via else (),
                groups=path_groups(groups),
                file_hash=file_hash,
                authorities=authorities,
                patience_s=patience,
                progress=tell,
            )
        except KeyboardInterrupt:
            typer.echo("stopped; the same command goes on from here", err=True)
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(iperf_report(fetched, states), indent=1))
    else:
        _print(fetched)


class _Bar:
    """The file, and below it its sources and their paths, with their rates over the last second."""

    def __init__(self, console: Console) -> None:
        self.live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        self.seen: deque[tuple[float, dict[str, int]]] = deque([(0.0, {})])

    def __enter__(self) -> Callable[[FetchState], None]:
        if self.live is None:
            return lambda _: None
        self.live.start()
        return self.show

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, state: FetchState) -> None:
        """Draw it anew."""
        assert self.live is not None
        counts = {_key(source, path): path["received_bytes"] for source in state.sources for path in source["paths"]}
        self.seen.append((state.time_s, counts))
        while len(self.seen) > 2 and state.time_s - self.seen[1][0] >= RATED_S:
            self.seen.popleft()
        before_s, before = self.seen[0]
        table = Table.grid(padding=(0, 2))
        for source in state.sources:
            table.add_row(
                source["source"], bytes_text(source["brought_bytes"]), "", source["why"] or source["standing"]
            )
            for path in source["paths"]:
                key = _key(source, path)
                rate = 8 * max(counts[key] - before.get(key, 0), 0) / max(state.time_s - before_s, 1e-9)
                standing = f"rtt {1e3 * path['rtt_s']:.1f} ms" if path["is_open"] else "closed"
                table.add_row(Text(f"  {path['path']}"), bytes_text(counts[key]), rate_text(rate), standing)
        there, size = state.there_bytes, state.size_bytes or 0
        total = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(size, 1), completed=there, width=BAR_WIDTH)
        total.add_row(bar, f"{bytes_text(there)} of {bytes_text(size)}")
        self.live.update(Group(total, table), refresh=True)


def _key(source: dict[str, Any], path: dict[str, Any]) -> str:
    return f"{source['source']} {path['path']}"


def _print(fetched: Fetched) -> None:
    """Say what came from where, and how fast."""
    came, took_s = fetched.size_bytes - fetched.was_there_bytes, fetched.state.time_s
    there = f", {bytes_text(fetched.was_there_bytes)} of it were there" if fetched.was_there_bytes else ""
    rate = f"{bytes_text(came)} in {took_s:.2f} s, {rate_text(fetched.rate_bps)}"
    typer.echo(f"{fetched.path}: {bytes_text(fetched.size_bytes)}{there}; {rate}")
    for source in fetched.state.sources:
        reason = source["why"] or ("" if source["brought_bytes"] else NOTHING.get(source["standing"]))
        why = f" ({printable(reason)})" if reason else ""
        typer.echo(f"  {source['source']}: {bytes_text(source['brought_bytes'])}{why}")
        for path in source["paths"]:
            carried = f"{bytes_text(path['received_bytes'])} on the wire, rtt {1e3 * path['rtt_s']:.1f} ms"
            typer.echo(f"    {path['path']}: {carried}")
    typer.echo(f"  blake3 {fetched.hash}")
