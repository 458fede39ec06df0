"""``anabranch fetch``: files from sharers and web servers, over several paths."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from anabranch import _core
from anabranch.commands.exit_codes import INTERRUPTED
from anabranch.commands.fetch_notices import Notices
from anabranch.commands.fetch_progress import ProgressView
from anabranch.commands.fetch_summary import print_line, print_summary, print_total
from anabranch.commands.grants import Demand, granted
from anabranch.commands.groups import Groups, path_groups
from anabranch.commands.items import Find, found_urls
from anabranch.commands.qlog import QlogFolder, kept_logs
from anabranch.errors import NoLivePartError
from anabranch.number_labels import bytes_text
from anabranch.transfer.fetch import FetchOptions, fetch_file
from anabranch.transfer.iperf import iperf_report
from anabranch.transfer.wanted import WantedFiles, target_below, target_of, wanted_files

if TYPE_CHECKING:
    from anabranch.transfer.fetched import FetchState

HELP = """Fetch a file over several paths, and from several servers at once.

A URL is one that `anabranch share` or `send` prints, one of a web server (http or https), or a Metalink file (.meta4),
here or at a web server. The URL of a shared folder fetches all of its files.

Chunks from `share` and `send` are verified when they arrive, and so are those of web servers beside them. From web
servers alone the file is verified by --hash or by a Metalink file; without either, the hash of what came is printed.
Servers that tell of different files are refused, unless a hash says which is wanted. After Ctrl-C or a crash the same
command continues, with the data received until then.

--control names the window protocol of the paths from `share` and `send`. A coupled one, such as the default, takes no
more from other connections than a single path would; `anabranch perf --help` lists all. Paths to web servers are TCP of
the kernel, which is coupled with nothing.
"""

PATIENCE_S = 60.0

GOES_ON = "the same command goes on from here"
BEGINS_AGAIN = "nothing of the file has come yet"


def command(
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL...", help="URLs that `anabranch share` prints, of web servers, or Metalink files."),
    ] = None,
    find: Find = None,
    to: Annotated[
        Path | None, typer.Option(help="Folder or new file. Default: the file's name, in this folder.")
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print names and sizes of the files, and fetch none.")
    ] = False,
    control: Annotated[str, typer.Option(help="Window protocol (congestion control) of the paths.")] = "lia",
    via: Annotated[
        str | None,
        typer.Option(
            metavar="IF1,IF2", help="Local interfaces or addresses, with a path over each; IF=PEER connects to PEER."
        ),
    ] = None,
    groups: Groups = None,
    grants: Annotated[
        list[str] | None,
        typer.Option(
            "--grant",
            metavar="AGENT.toml:NODE",
            help="Fetch at the rate that this agent, that of the server, grants from its node to NODE. Repeatable: one "
            "for each URL.",
        ),
    ] = None,
    demand: Demand = None,
    file_hash: Annotated[
        list[str] | None,
        typer.Option(
            "--hash",
            metavar="HASH",
            help="Hash of the file: sha256:HEX, also sha512, sha1, md5; or 64 digits of BLAKE3. Default: the hash in a "
            "URL or a Metalink file; without one all servers must agree.",
        ),
    ] = None,
    authorities: Annotated[
        Path | None,
        typer.Option(help="PEM file of certificates to trust, for URLs without a fingerprint and for https."),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Time in seconds without a reachable server after which the fetch ends.")
    ] = PATIENCE_S,
    qlog: QlogFolder = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in iperf3's format: the rate of each path in each second.")
    ] = False,
) -> None:
    """Run `HELP`."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    urls = [*(urls or []), *found_urls(find)]
    if not urls:
        raise ValueError("fetch needs a URL, or --find AGENT.toml:ITEM")
    if grants and len(grants) != len(urls):
        raise ValueError(f"--grant: there are {len(grants)} for {len(urls)} URLs; give one for each URL, in order")
    paths = via.split(",") if via else []
    numbers, follow = path_groups(groups, paths, fetches=True)
    sources = _of_folder(urls) if list_only else urls
    wanted = wanted_files(sources, file_hash or [], authorities=authorities, via=paths)
    if list_only:
        _print_list(wanted, as_json=as_json)
        return
    told: dict[Path, FetchState] = {}
    try:
        with ExitStack() as stack:
            rates = [granted(grant, demand, f"fetch {place}", stack) for place, grant in enumerate(grants or [None])]
            limits = [rate.total_bps for rate in rates if rate is not None]
            logs = stack.enter_context(kept_logs(qlog))
            options = FetchOptions(control, paths, numbers, authorities, patience, follow, limits, logs)
            _fetch(wanted, to, options, told, as_json=as_json)
    except KeyboardInterrupt:
        has_some = any(state.there_bytes for state in told.values())
        typer.echo(f"stopped; {GOES_ON if has_some else BEGINS_AGAIN}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _fetch(
    wanted: WantedFiles, to: Path | None, options: FetchOptions, told: dict[Path, FetchState], *, as_json: bool
) -> None:
    """Fetch the files one after the other, and print what came; `told` gets the last state of each."""
    is_one = wanted.folder is None
    begin, done, reports = time.monotonic(), [], []
    with ProgressView(Console(stderr=True), Notices(options.patience_s)) as show:
        for number, file in enumerate(wanted.files, 1):
            target = target_of(file, to) if is_one else target_below(to or Path(wanted.folder or ""), file.name or "")
            title = "" if is_one else f"{number} of {len(wanted.files)}: {file.name}"
            states: list[FetchState] = []

            def tell(
                state: FetchState, title: str = title, target: Path = target, states: list[FetchState] = states
            ) -> None:
                states.append(state)
                told[target] = state
                show(state, title)

            fetched = fetch_file(file, target, options, tell)
            done.append(fetched)
            if as_json:
                reports.append(iperf_report(fetched, states))
            elif not is_one:
                print_line(fetched)
    if as_json:
        typer.echo(json.dumps(reports[0] if is_one else reports, indent=1))
    elif is_one:
        print_summary(done[0])
    else:
        print_total(done, time.monotonic() - begin)


def _of_folder(urls: list[str]) -> list[str]:
    """Give the URLs of the folders that are listed: of a shared file, the one that it is in."""
    if not all(url.startswith("anabranch://") for url in urls):
        return urls
    paths = [_core.url_path(url) for url in urls]
    return [_core.url_with_name(url, path[: path.rfind("/") + 1]) for url, path in zip(urls, paths, strict=True)]


def _print_list(wanted: WantedFiles, *, as_json: bool) -> None:
    """Print names and sizes of files."""
    rows = [{"name": file.name, "size_bytes": file.size_bytes} for file in wanted.files]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    sizes = ["" if file.size_bytes is None else bytes_text(file.size_bytes) for file in wanted.files]
    width = max(map(len, sizes))
    for file, size in zip(wanted.files, sizes, strict=True):
        typer.echo(f"{size:>{width}}  {file.name}")
