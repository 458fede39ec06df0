"""``anabranch report``: runs as one HTML file, to be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.allocation import Allocation
from anabranch.allocation_folder import holds_allocation, read_allocation
from anabranch.errors import ScenarioError
from anabranch.folder import check_place
from anabranch.page import Content, allocation_content, result_content, write_report
from anabranch.result import Result, read_result

HELP = """Make one HTML file of one or more runs or allocations, which opens anywhere, without a server.

It shows the network, rates beside fair ones, queues and errors over time, and the connections, the farthest from fair
first; of an allocation, why each connection gets no more. Several stand side by side under one time. Prints where the
file is.
"""

Runs = Annotated[
    list[Path], typer.Argument(help="Folders that `anabranch run --out` or `anabranch solve --out` has written.")
]


def command(
    runs: Runs,
    out: Annotated[
        Path | None, typer.Option(help="The file, replaced if it is there. Default: report.html in the first folder.")
    ] = None,
) -> None:
    """Run `HELP`."""
    file = runs[0] / "report.html" if out is None else out
    found = [_read(folder) for folder in runs]
    check_place(file)
    names = _names(runs, [_title(shown) for shown in found])
    write_report([_content(shown, name) for shown, name in zip(found, names, strict=True)], file)
    typer.echo(str(file))


def _read(folder: Path) -> Result | Allocation:
    """Read what a folder holds."""
    if holds_allocation(folder):
        return read_allocation(folder)
    if (folder / "scenario.toml").is_file():
        return read_result(folder)
    if not folder.exists():
        reason = "there is no such folder"
    elif not folder.is_dir():
        reason = "it is a file"
    elif (folder / "subflows.parquet").is_file():
        reason = "it has an allocation without its paths.parquet: it is of bare numbers, or older than that file"
    else:
        reason = "it holds neither a run nor an allocation"
    hint = "name a folder that `anabranch run --out` or `anabranch solve --out` has written"
    raise ScenarioError(f"{folder}: {reason}; {hint}")


def _title(shown: Result | Allocation) -> str:
    if isinstance(shown, Result):
        return str(shown.meta["title"])
    network = shown.paths.demands.network.name if shown.paths else ""
    return f"{network}, {shown.fairness}" if network else ""


def _content(shown: Result | Allocation, name: str) -> Content:
    return result_content(shown, name=name) if isinstance(shown, Result) else allocation_content(shown, name=name)


def _names(folders: list[Path], titles: list[str]) -> list[str]:
    """Name the runs by their titles, or by their folders where these do not tell them apart."""
    if all(titles) and len(set(titles)) == len(titles):
        return titles
    return [folder.resolve().name for folder in folders]
