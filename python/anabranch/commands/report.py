"""``anabranch report``: runs as one HTML file, to be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.folder import check_place
from anabranch.page import result_content, write_report
from anabranch.result import read_result

HELP = """Make one HTML file of one or more runs, which opens anywhere, without a server.

It shows the network, rates beside fair ones, queues and errors over time, and the connections, the farthest from fair
first; several runs stand side by side under one time. Prints where the file is.
"""

Runs = Annotated[list[Path], typer.Argument(help="Folders that `anabranch run --out` has written.")]


def command(
    runs: Runs,
    out: Annotated[
        Path | None, typer.Option(help="The file, replaced if it is there. Default: report.html in the first folder.")
    ] = None,
) -> None:
    """Run `HELP`."""
    file = runs[0] / "report.html" if out is None else out
    results = [read_result(folder) for folder in runs]
    check_place(file)
    names = _names(runs, [result.meta["title"] for result in results])
    write_report([result_content(result, name=name) for result, name in zip(results, names, strict=True)], file)
    typer.echo(str(file))


def _names(folders: list[Path], titles: list[str]) -> list[str]:
    """Name the runs by their titles, or by their folders where these do not tell them apart."""
    if all(titles) and len(set(titles)) == len(titles):
        return titles
    return [folder.resolve().name for folder in folders]
