"""A table as lines of text: whole at its natural width, or made to fit the width of a terminal.

Where there is too little room, names are cut in the middle and texts are broken between words; if that is not enough,
the columns of least importance are left out, and a line below the table says which. Numbers are never broken.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len

from anabranch.commands.tables.cut import cut, least_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anabranch.commands.tables.column import Column

GAP = 2
"""The spaces between two columns."""

LEAST_WRAPPED = 16
"""The least width of a column of texts."""

BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?bit/s|[mµn]?s|%|[kMGT]?B|bytes|packets)(?!\w))")
"""The blank between a number and its unit."""

HELD = "\u00a0"
"""A blank at which no line is broken."""


def width_of_output() -> int | None:
    """Give the width to which output is made to fit: that of the terminal, or COLUMNS; None for no limit."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) > 0 else None


def print_table(columns: Iterable[Column], *, title: str = "", most: int | None = None) -> None:
    """Print a table, with its headings in bold on a terminal; `most` is its width where the output has no limit."""
    lines, headings, left_out = table_lines(list(columns), width_of_output() or most)
    if title:
        print_heading(title)
    for place, line in enumerate(lines):
        typer.echo(typer.style(line, bold=True) if place < headings else line)
    if left_out:
        print_text(f"(no room for {', '.join(left_out)}; a wider terminal or --json shows them)")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values below each other; a value that is too long is broken between words."""
    rows = list(facts)
    room = max((cell_len(name) for name, _ in rows), default=0) + GAP
    for name, value in rows:
        print_text(name + " " * (room - cell_len(name)) + value, indent=" " * room)


def print_heading(text: str) -> None:
    """Print a line in bold on a terminal."""
    typer.echo(typer.style(text, bold=True))


def print_text(text: str, *, indent: str = "") -> None:
    """Print a line, broken between words where the output is narrower."""
    width = width_of_output()
    if width is None:
        typer.echo(text)
        return
    for line in text.split("\n"):
        typer.echo("\n".join(_broken(line, width, indent)))


def table_lines(columns: Sequence[Column], width: int | None) -> tuple[list[str], int, list[str]]:
    """Lay out a table.

    Returns
    -------
    lines : list of str
        The lines, without blanks at their ends.
    headings : int
        The number of the lines that are headings.
    left_out : list of str
        The headings of the columns for which there was no room.
    """
    kept, left_out = list(columns), []
    while width is not None and _least(kept) > width:
        going = max(kept, key=lambda column: column.leaves)
        if not going.leaves:
            break
        kept.remove(going)
        left_out.append(going.heading)
    widths = _widths(kept, width)
    heads = [column.heading for column in kept]
    units = [column.unit for column in kept]
    lines = [_line(kept, heads, widths), *([_line(kept, units, widths)] if any(units) else [])]
    headings = len(lines)
    fitted = [_fitted(column, own) for column, own in zip(kept, widths, strict=True)]
    for row in zip(*fitted, strict=True):
        lines += [_line(kept, texts, widths) for texts in zip_longest(*row, fillvalue="")]
    return lines, headings, left_out


def _natural(column: Column) -> int:
    return max(map(cell_len, (column.heading, column.unit, *column.cells)))


def _least_of(column: Column) -> int:
    """Give the least width of a column: a number is not broken, and names that differ are told apart."""
    natural = _natural(column)
    if column.room == "fixed":
        return natural
    least = least_width(column.cells) if column.room == "cut" else LEAST_WRAPPED
    return min(max(cell_len(column.heading), least), natural)


def _least(columns: Sequence[Column]) -> int:
    return sum(map(_least_of, columns)) + GAP * (len(columns) - 1)


def _widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """Give each column its natural width, or where that is too much a fair share of the room for names and texts."""
    natural = list(map(_natural, columns))
    excess = 0 if width is None else sum(natural) + GAP * (len(columns) - 1) - width
    if excess <= 0:
        return natural
    widths = list(natural)
    least = [_least_of(column) for column in columns]
    while excess > 0:
        # The widest that can become narrower does, by one.
        able = [place for place, own in enumerate(widths) if own > least[place]]
        if not able:
            break
        widths[max(able, key=widths.__getitem__)] -= 1
        excess -= 1
    # Nothing was left to leave out: names become even shorter, and are numbered.
    while excess > 0 and (able := [p for p, c in enumerate(columns) if c.room != "fixed" and widths[p] > 1]):
        widths[max(able, key=widths.__getitem__)] -= 1
        excess -= 1
    return widths


def _fitted(column: Column, width: int) -> list[list[str]]:
    """Give the lines of each cell of a column."""
    if column.room == "cut":
        return [[text] for text in cut(column.cells, width)]
    if column.room == "wrapped":
        return [_broken(text, width) or [""] for text in column.cells]
    return [[text] for text in column.cells]


def _broken(text: str, width: int, indent: str = "") -> list[str]:
    """Break a text between words, but not between a number and its unit; a word longer than a line is broken too."""
    if cell_len(text) <= width:
        return [text]
    joined = BEFORE_UNIT.sub(HELD, text)
    room = max(width, len(indent) + 1)
    lines = textwrap.wrap(joined, room, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace(HELD, " ") for line in lines]


def _line(columns: Sequence[Column], texts: Sequence[str], widths: Sequence[int]) -> str:
    parts = []
    for column, text, width in zip(columns, texts, widths, strict=True):
        blank = " " * max(width - cell_len(text), 0)
        parts.append(blank + text if column.is_right else text + blank)
    return (" " * GAP).join(parts).rstrip()
