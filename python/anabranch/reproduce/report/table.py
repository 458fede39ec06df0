"""The table of an item: printed values, ours, differences, verdicts, as terminal, Markdown and page show them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anabranch.reproduce.spec.verdict import GOOD
from anabranch.reproduce.summary import CAUSE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.rows import Row

RIGHT = ("published", "ours", "difference", "margin")
"""The columns that are aligned right."""

ROUNDING = 5e-5
"""The relative difference below which 0 is written."""


def columns(rows: Sequence[Row]) -> list[tuple[str, list[object]]]:
    """Give the columns of the table of an item, by their headings; columns that would be empty are left out."""
    kept = ("quantity", "ours", "verdict")
    named: list[tuple[str, list[object]]] = [
        ("quantity", [row.quantity for row in rows]),
        ("published", [row.published for row in rows]),
        ("ours", [row.ours_text for row in rows]),
        ("difference", [_difference(row) for row in rows]),
        ("margin", [row.margin if row.kind == "number" else None for row in rows]),
        ("verdict", [row.verdict + (" (changed)" if row.is_changed else "") for row in rows]),
        ("under the reading", [row.reading for row in rows]),
        ("beside", [_beside(row) for row in rows]),
        ("why", [_why(row) for row in rows]),
        ("note", [_note(row) for row in rows]),
    ]
    return [(name, cells) for name, cells in named if name in kept or any(cell not in (None, "") for cell in cells)]


def seeds_note(rows: Sequence[Row]) -> str:
    """Say over how many seeds numbers are means; empty if there are no means."""
    counts = sorted({row.seeds for row in rows if row.seeds is not None})
    if not counts:
        return ""
    runs = " or ".join(map(str, counts))
    return f"Ours are means over {runs} seeds or traces, with 95 % confidence intervals (Student's t)."


def cell_text(value: object, digits: int = 5) -> str:
    """Write the text of a cell: a number with this many digits, nothing for None."""
    if value is None:
        return ""
    if value == math.inf:
        return "never"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _difference(row: Row) -> str:
    """Write the difference of ours to the number that it is judged against, also relative to that."""
    if row.difference is None or not isinstance(row.ours, float):
        return ""
    aim = row.ours - row.difference
    if abs(row.difference) <= ROUNDING * abs(aim):
        return "0"
    share = f" ({_signed(100.0 * row.difference / aim)} %)" if aim else ""
    return f"{_signed(row.difference)}{share}"


def _beside(row: Row) -> str:
    """Write the number that is not published, and how ours compares with it."""
    if row.against is None:
        return ""
    word = row.beside or row.verdict
    named = "ours before" if row.kind == "record" else "compared with"
    return f"{named} {cell_text(row.against)}" + (f": {word}" if row.beside else f" ± {cell_text(row.margin, 3)}")


def _why(row: Row) -> str:
    """Write the cause, with the defect or choice that rows share."""
    if not row.cause or (row.verdict in GOOD and row.is_as_described):
        return ""
    return f"{CAUSE_WORDS[row.cause]}: {row.defect}" if row.defect else CAUSE_WORDS[row.cause]


def _note(row: Row) -> str:
    """Write the note, after the numbers of the other readings."""
    is_number = row.kind == "number"
    others = [
        f"{own.name}: {own.ours_text}, {own.verdict}" if is_number else f"{own.name}: {own.verdict}"
        for own in row.readings
        if own.name != row.reading
    ]
    return "; ".join([*others, *([row.note] if row.note else [])])


def _signed(value: float) -> str:
    """Write a number with its sign and two digits, or with all digits before the point."""
    return f"{value:+.0f}" if abs(value) >= 99.5 else f"{value:+.2g}"
