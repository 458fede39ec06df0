"""The table of an item: printed values, ours, differences, verdicts, as terminal, Markdown and page show them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.rows import Row

RIGHT = ("published", "judged against", "ours", "difference", "tolerance")
"""Columns that stand to the right."""

ROUNDING = 5e-5
"""Differences of so small a share are written as 0."""


def columns(rows: Sequence[Row]) -> list[tuple[str, list[object]]]:
    """Give the columns of the table of an item, by their headings; those that would be empty are left out."""
    aims: list[object] = [row.against for row in rows]
    differences: list[object] = [_difference(row) for row in rows]
    return [
        ("quantity", [row.quantity for row in rows]),
        ("published", [row.published for row in rows]),
        *([("judged against", aims)] if any(aim is not None for aim in aims) else []),
        ("ours", [row.ours_text for row in rows]),
        *([("difference", differences)] if any(differences) else []),
        ("tolerance", [row.tolerance for row in rows]),
        ("within", [row.verdict for row in rows]),
        ("note", [row.note for row in rows]),
    ]


def seeds_note(rows: Sequence[Row]) -> str:
    """Say over how many seeds numbers are means; empty if over none."""
    counts = sorted({row.seeds for row in rows if row.seeds is not None})
    if not counts:
        return ""
    runs = " or ".join(map(str, counts))
    return f"Ours are means over {runs} seeds or traces, with 95 % confidence intervals (Student's t)."


def cell_text(value: object, digits: int = 5) -> str:
    """Write what stands in a cell: numbers with so many digits, nothing for what is not there."""
    if value is None:
        return ""
    if value == math.inf:
        return "never"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _difference(row: Row) -> str:
    """Write how far ours is from what it is judged against, and relative to that."""
    if row.difference is None or not isinstance(row.ours, float):
        return ""
    aim = row.ours - row.difference
    if abs(row.difference) <= ROUNDING * abs(aim):
        return "0"
    share = f" ({_signed(100.0 * row.difference / aim)} %)" if aim else ""
    return f"{_signed(row.difference)}{share}"


def _signed(value: float) -> str:
    """Write a number with its sign and two digits, or all before the point."""
    return f"{value:+.0f}" if abs(value) >= 99.5 else f"{value:+.2g}"
