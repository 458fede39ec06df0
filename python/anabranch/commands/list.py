"""``anabranch list``: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from anabranch import _core

app = typer.Typer(help="List what there is to choose from.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def options() -> None:
    """List what there is to choose from."""


@app.command()
def protocols(
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON instead.")] = False,
) -> None:
    """List the protocols: name in a scenario, title, what they do."""
    found = _core.protocols()
    if as_json:
        typer.echo(json.dumps([{"name": name, "title": title, "does": does} for name, title, does in found], indent=1))
        return
    console = Console()
    console.width = console.width if console.is_terminal else 200
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "title", "does"):
        table.add_column(heading)
    for row in found:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)
