"""A table in CSV: a header that names known columns, and rows with their line numbers.

Cells are separated by commas, semicolons or tabs: by what the first line has most of.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.formats.attributes import (
    is_missing,
    name_of,
    number,
    rate_bps,
    rate_text,
    seconds,
    span_text,
)
from anabranch.formats.source import BEGINNING, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.formats.source import Place, Source

SEPARATORS = (",", ";", "\t")
"""The signs that may stand between cells."""

YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}


@dataclass(frozen=True)
class Row:
    """A row: its cells by column, without the blanks around them; and where it stands."""

    cells: dict[str, str]
    place: Place

    def name(self, column: str) -> str:
        """Give a name that must be there."""
        return name_of(self.cells[column], self.place, column)

    def optional_name(self, column: str) -> str | None:
        """Give a name, or None where the cell is empty or the column missing."""
        return self.name(column) if self.cells.get(column) else None

    def rate(self, column: str) -> float | None:
        """Give a rate in bit/s: ``column_bps`` as a number, or ``column`` with its unit; None where both are empty."""
        bare, text = self.cells.get(f"{column}_bps"), self.cells.get(column)
        if not is_missing(bare):
            return rate_bps(bare, self.place, f"{column}_bps")
        return None if is_missing(text) else rate_text(text, self.place, column)

    def span(self, column: str) -> float | None:
        """Give a time in seconds: ``column_s`` as a number, or ``column`` with its unit; None where both are empty."""
        bare, text = self.cells.get(f"{column}_s"), self.cells.get(column)
        if not is_missing(bare):
            return seconds(bare, self.place, f"{column}_s")
        return None if is_missing(text) else span_text(text, self.place, column)

    def between(self, column: str, low: float, high: float, words: str) -> float | None:
        """Give a number over ``low`` and at most ``high``; None where the cell is empty."""
        cell = self.cells.get(column)
        if is_missing(cell):
            return None
        found = number(cell)
        if found is None or not low < found <= high:
            raise self.place.error(f"{column} is `{excerpt(cell)}`", f"it must be {words}")
        return found

    def flag(self, column: str) -> bool:
        """Give a yes or a no; no where the cell is empty."""
        cell = self.cells.get(column, "")
        if cell.lower() not in YES_OR_NO:
            raise self.place.error(f"{column} is `{excerpt(cell)}`", "it must be yes or no")
        return YES_OR_NO[cell.lower()]


def read_table(source: Source, *, needed: Sequence[str], known: Sequence[str]) -> tuple[list[str], list[Row]]:
    """Give the columns and the rows; blank lines, and rows of empty cells, are passed over.

    Parameters
    ----------
    needed, known : sequence of str
        Columns that must be there, and those that may be.
    """
    lines = read_lines(source)
    place, header = next(lines, (source.whole, []))
    columns = _header(header, place, needed, known) if header else []
    return columns, [Row(dict(zip(columns, cells, strict=True)), place) for place, cells in lines if any(cells)]


def read_lines(source: Source) -> Iterator[tuple[Place, list[str]]]:
    """Give the place and the cells of each line, without blanks around them; blank lines are passed over.

    Raises
    ------
    ScenarioError
        Quotes that do not end, or a line with another number of cells than the first.
    """
    text = io.StringIO(source.text, newline="")
    reader = csv.reader(text, delimiter=separator_of(source.text), skipinitialspace=True, strict=True)
    count = 0
    try:
        for cells in reader:
            if len(cells) < 2 and not "".join(cells).strip():
                continue
            place = source.line(reader.line_num)
            count = count or len(cells)
            if len(cells) != count:
                reason = f"it has {len(cells)} cells and the header {count}"
                raise place.error(reason, "give each row a cell for each column")
            yield place, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise source.line(reader.line_num).error(f"it is not CSV ({error})", "correct the quotes") from error


def separator_of(text: str) -> str:
    """Give the sign between cells: that of which the first line that is not blank has most, a comma if none."""
    first = next((line for line in text[:BEGINNING].splitlines() if line.strip()), "")
    return max(SEPARATORS, key=first.count)


def _header(cells: list[str], place: Place, needed: Sequence[str], known: Sequence[str]) -> list[str]:
    columns = [cell.lower() for cell in cells]
    all_known = [*needed, *known]
    for column in columns:
        if column not in all_known:
            near = _core.nearest_name(column, all_known) if len(column) < 50 else None
            hint = f" (did you mean `{near}`?)" if near else ""
            raise place.error(f"there is no column `{excerpt(column)}`{hint}", f"use {', '.join(all_known)}")
        if columns.count(column) > 1:
            raise place.error(f"column `{column}` is there twice", "keep one")
        if column in known and any(column == f"{other}_{unit}" for other in columns for unit in ("bps", "s")):
            plain = column.rpartition("_")[0]
            raise place.error(f"there are both `{plain}` and `{column}`", "keep one")
    for column in needed:
        if column not in columns:
            raise place.error(f"the header has no column `{column}`", f"begin the file with {','.join(needed)},...")
    return columns
