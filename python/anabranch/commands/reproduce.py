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
from anabranch.reproduce import RIGHT, Row, columns, report, seeds_note, verdicts
from anabranch.reproduce import reproduce as run

HELP = """Reproduce a published result: every printed number or claim beside ours.

Exit code 3 if something is outside its band. A claim of the paper that ours does not bear out is shown as one. With
--scale below 1 the numbers are not those of the paper's size.
"""

OUTSIDE = 3
"""Exit code: a reproduction is outside its band."""


def command(
    name: Annotated[str, typer.Argument(help="Paper, such as upward-max-min.")],
    item: Annotated[str | None, typer.Argument(help="Table or figure, such as table-7; all if not given.")] = None,
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
    with runs_bar() as tell:
        rows = run(name, item, scale=scale, experiments=experiments, progress=tell)
    if out is not None:
        report(rows, out)
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        _print(rows)
    if not all(row.within for row in rows):
        raise typer.Exit(OUTSIDE)


def _print(rows: list[Row]) -> None:
    console = Console()
    console.width = console.width if console.is_terminal else 200
    for item in dict.fromkeys(row.item for row in rows):
        table = Table(title=item, title_justify="left", box=None, pad_edge=False, header_style="bold")
        own = [row for row in rows if row.item == item]
        named = columns(own)
        for heading, _ in named:
            table.add_column(heading, justify="right" if heading in RIGHT else "left")
        for cells in zip(*(values for _, values in named), strict=True):
            table.add_row(*(Text(_text(value)) for value in cells))
        console.print(table)
        if note := seeds_note(own):
            console.print(note, highlight=False)
        console.print()
    console.print(verdicts(rows), highlight=False)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
