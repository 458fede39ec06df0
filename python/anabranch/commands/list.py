"""``anabranch list``: the protocols and queue disciplines that scenarios can name."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from anabranch import _core
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table

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
    print_table(
        [
            column.labels("name", (row[0] for row in found)),
            column.words("title", (row[1] for row in found), leaves=1),
            column.words("family", (row[3] for row in found), leaves=2),
            column.words("does", (row[2] for row in found)),
        ]
    )
