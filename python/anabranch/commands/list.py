"""``anabranch list``: the protocols and queue disciplines that scenarios can name."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from anabranch import _core

app = typer.Typer(
    help="List protocols or queue disciplines.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


@app.callback()
def options() -> None:
    """List protocols or queue disciplines."""


KEYS = ("name", "title", "does", "family", "module")
"""Keys of each entry in JSON."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


@app.command()
def protocols(as_json: AsJson = False) -> None:
    """List the protocols: name in a scenario, title, family, what they do."""
    show(_core.protocols(), as_json=as_json)


@app.command()
def disciplines(as_json: AsJson = False) -> None:
    """List the queue disciplines of links: name in a scenario, title, family, what they do."""
    show(_core.disciplines(), as_json=as_json)


def show(found: list[tuple[str, str, str, str, str]], *, as_json: bool) -> None:
    """Print names, titles, families and what they mean, as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps([dict(zip(KEYS, row, strict=True)) for row in found], indent=1))
        return
    console = Console()
    console.width = console.width if console.is_terminal else 200
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "title", "family", "does"):
        table.add_column(heading)
    for name, title, does, family, _ in found:
        table.add_row(*(cell.replace("[", r"\[") for cell in (name, title, family, does)))
    console.print(table)
