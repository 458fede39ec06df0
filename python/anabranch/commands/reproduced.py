"""A reproduction on a terminal: verdict, published and ours of each row, the notes below, and the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_heading, print_table, print_text
from anabranch.reproduce.report.table import cell_text, columns, seeds_note
from anabranch.reproduce.summary import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.rows import Row, Rows

DIGITS = 4
"""The significant digits of printed numbers."""

SHOWN = ("verdict", "quantity", "published", "ours", "difference", "margin")
NOTES = ("live", "under the reading", "beside", "why", "note")
"""The columns of `anabranch.reproduce.report.table` that are printed below the table, in this order."""


def print_rows(rows: Rows, *, with_paper: bool, with_notes: bool, is_brief: bool) -> None:
    """Print all tables of a reproduction, and its summary."""
    if with_paper and rows.paper is not None:
        print_heading(rows.paper.title)
    if not is_brief:
        for item in dict.fromkeys(row.item for row in rows):
            _print_item(item, [row for row in rows if row.item == item], with_notes=with_notes)
    for line in summary(rows).splitlines():
        print_text(line)


def _print_item(item: str, rows: Sequence[Row], *, with_notes: bool) -> None:
    numbers = [row for row in rows if row.kind != "claim"]
    claims = [row for row in rows if row.kind == "claim"]
    if numbers:
        texts = _texts(numbers)
        print_table(
            [
                column.labels("verdict", texts["verdict"]),
                column.words("number", texts["quantity"]),
                column.words("published", texts["published"], is_right=True),
                column.words("ours", texts["ours"], is_right=True),
                column.labels("difference", texts["difference"], is_right=True, leaves=1),
                column.labels("margin", texts["margin"], is_right=True, leaves=2),
            ],
            title=item,
        )
        typer.echo()
    if claims:
        texts = _texts(claims)
        print_table(
            [
                column.labels("verdict", texts["verdict"]),
                column.words("claim", texts["quantity"]),
                column.words("ours", texts["ours"]),
            ],
            title="" if numbers else item,
        )
        typer.echo()
    _print_notes(rows, with_notes=with_notes)
    if note := seeds_note(rows):
        print_text(note)
        typer.echo()


def _print_notes(rows: Sequence[Row], *, with_notes: bool) -> None:
    """Print the notes of all rows, or what live runs measured and how many other notes there are."""
    texts = _texts(rows)
    shown = NOTES if with_notes else NOTES[:1]
    hidden = 0
    for place, row in enumerate(rows):
        parts = [f"{name} {texts[name][place]}" if name != "note" else texts[name][place] for name in shown]
        parts = [part for part, name in zip(parts, shown, strict=True) if texts[name][place]]
        if with_notes and row.kind == "claim" and row.published:
            parts.insert(0, f"published: {row.published}")
        if parts:
            print_text(f"{row.quantity}: {'; '.join(parts)}", indent="    ")
        hidden += bool(texts["note"][place] or texts["why"][place]) and not with_notes
    if hidden:
        typer.echo(f"{hidden} rows have notes; --notes shows them")
    if hidden or with_notes:
        typer.echo()


def _texts(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Give the texts of all cells by the heading of their column; those of a column that is left out are empty."""
    named = {name: [cell_text(value, DIGITS) for value in values] for name, values in columns(rows)}
    empty = [""] * len(rows)
    return {
        name: named.get(name, empty)
        for name in ("quantity", "published", "ours", "difference", "margin", "verdict", *NOTES)
    }
