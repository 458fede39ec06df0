"""``anabranch reproduce``: a paper's numbers beside ours."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.commands.progress import runs_bar
from anabranch.errors import ScenarioError
from anabranch.folder import check_new, check_place
from anabranch.reproduce import Row, Rows, verdicts
from anabranch.reproduce import reproduce as run
from anabranch.site import reproduce_all, reproduce_to
from anabranch.site.table import RIGHT, cell_text, columns, seeds_note

HELP = """Reproduce a published result: every printed number or claim beside ours.

Exit code 3 if something is outside its band. A claim of the paper that ours does not bear out is shown as one. With
--scale below 1 the numbers are not those of the paper's size.

--report writes a page to look at (index.html), the same as Markdown and JSON, and the figures. --all reproduces all
papers, one after the other; with --report each has its pages as soon as it is done.
"""

OUTSIDE = 3
"""Exit code: a reproduction is outside its band."""

DIGITS = 4
"""Of the numbers printed."""


def command(
    name: Annotated[str | None, typer.Argument(help="Paper, such as upward-max-min.")] = None,
    item: Annotated[str | None, typer.Argument(help="Table or figure, such as table-7; all if not given.")] = None,
    all_papers: Annotated[bool, typer.Option("--all", help="All papers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON instead.")] = False,
    out: Annotated[Path | None, typer.Option("--report", help="New folder for a report with the figures.")] = None,
    scale: Annotated[
        float, typer.Option(help="Simulate with so many times the random connections, for a quick look.")
    ] = 1.0,
    experiments: Annotated[
        Path | None, typer.Option(help="Folder of experiments, if not ./experiments or the source checkout's.")
    ] = None,
) -> None:
    """Run `HELP`."""
    if all_papers != (name is None):
        raise ScenarioError("say what to reproduce: name a paper, such as upward-max-min, or give --all instead")
    if out is not None:
        check_new(out)
        check_place(out)
    with runs_bar() as tell:
        if name is None:
            found = list(reproduce_all(out, scale=scale, experiments=experiments, progress=tell))
        elif out is not None:
            found = [reproduce_to(out, name, item, scale=scale, experiments=experiments, progress=tell)]
        else:
            found = [run(name, item, scale=scale, experiments=experiments, progress=tell, each_figure=lambda _: None)]
    if as_json:
        typer.echo(json.dumps([_plain(rows, row) for rows in found for row in rows], indent=1))
    else:
        for rows in found:
            _print(rows, with_paper=name is None)
    if not all(row.within for rows in found for row in rows):
        raise typer.Exit(OUTSIDE)


def _plain(rows: Rows, row: Row) -> dict[str, Any]:
    """Give a row as plain data, with the paper that it is of."""
    return {"paper": rows.paper.name if rows.paper else "", **asdict(row)}


def _print(rows: Rows, *, with_paper: bool) -> None:
    console = Console()
    console.width = console.width if console.is_terminal else 200
    if with_paper and rows.paper is not None:
        console.rule(Text(rows.paper.title), align="left")
    for item in dict.fromkeys(row.item for row in rows):
        table = Table(title=item, title_justify="left", box=None, pad_edge=False, header_style="bold")
        own = [row for row in rows if row.item == item]
        named = columns(own)
        for heading, _ in named:
            table.add_column(heading, justify="right" if heading in RIGHT else "left")
        for cells in zip(*(values for _, values in named), strict=True):
            table.add_row(*(Text(cell_text(value, DIGITS)) for value in cells))
        console.print(table)
        if note := seeds_note(own):
            console.print(note, highlight=False)
        console.print()
    console.print(verdicts(rows), highlight=False)
