"""``anabranch report``: runs and allocations as one HTML file for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.commands.places import Force, check_output
from anabranch.page import holds_cases, read_folder, shown_content, title_of, write_cases_page, write_report

HELP = """Make one HTML file of one or more runs or allocations, which opens anywhere, without a server.

For a run it shows the network, rates and fair rates, queues and errors over time, and the connections, the farthest
from fair first. For an allocation it explains why each connection gets no more. Several runs are shown side by side
with one time. For many cases, such as failures, it has a table, the worst first. Prints the name of the file.
"""

Runs = Annotated[
    list[Path], typer.Argument(help="Folders that `anabranch run --out` or `anabranch solve --out` wrote.")
]


def command(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(help="The HTML file. Default: report.html in the first folder."),
    ] = None,
    force: Force = False,
) -> None:
    """Run `HELP`."""
    file = runs[0] / "report.html" if out is None else out
    if len(runs) == 1 and holds_cases(runs[0]):
        check_output(file, force=force)
        write_cases_page(runs[0], file)
        typer.echo(str(file))
        return
    found = [read_folder(folder) for folder in runs]
    check_output(file, force=force)
    names = _names(runs, [title_of(shown) for shown in found])
    write_report([shown_content(shown, name=name) for shown, name in zip(found, names, strict=True)], file)
    typer.echo(str(file))


def _names(folders: list[Path], titles: list[str]) -> list[str]:
    """Name the runs by their titles, or by their folders where these do not tell them apart."""
    if all(titles) and len(set(titles)) == len(titles):
        return titles
    return [folder.resolve().name for folder in folders]
