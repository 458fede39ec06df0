"""Pieces of HTML: a card, a table, a legend."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROWS = 8
"""The most rows of a table."""

LONGEST = 60
"""The most characters of a name."""

TEXT = "font: 13px/1.45 system-ui, sans-serif; max-width: 720px"
CELL = "text-align: {}; padding: 1px 14px 1px 0; white-space: nowrap"


def card(title: str, facts: Iterable[str], *pieces: str) -> str:
    """Put a title, lines of facts, and pieces of HTML below each other."""
    lines = "".join(f"<div>{escape(fact)}</div>" for fact in facts)
    return f'<div style="{TEXT}"><div><b>{escape(title)}</b></div>{lines}{"".join(pieces)}</div>'


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], of: int) -> str:
    """Make a table of the first rows; numbers are aligned to the right."""
    if not rows:
        return ""
    sides = ["right" if all(_is_number(text) for text in column) else "left" for column in zip(*rows, strict=True)]
    head = "".join(
        f'<th style="{CELL.format(side)}">{escape(name)}</th>' for name, side in zip(headings, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL.format(side)}">{_cell(text)}</td>' for text, side in zip(row, sides, strict=True))
        + "</tr>"
        for row in rows
    )
    more = f"<div>... and {of - len(rows)} more</div>" if of > len(rows) else ""
    return (
        '<div style="overflow-x: auto"><table style="border-collapse: collapse; margin: 6px 0 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


def _is_number(text: str) -> bool:
    return not text or text.lstrip("-")[:1].isdigit()


def _cell(text: str) -> str:
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026")


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Make a legend of colours."""
    one = '<span style="white-space: nowrap; margin-right: 14px"><span style="color: {}">&#9632;</span> {}</span>'
    return "<div>" + "".join(one.format(colour, escape(text)) for colour, text in entries) + "</div>"


def svg(width: int, height: int, label: str, shapes: str) -> str:
    """Put shapes into a picture that fills the available width, up to `width`."""
    style = f"display: block; width: 100%; max-width: {width}px; margin: 5px 0"
    head = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}" fill="none" style="{style}">'
    return f"{head}{shapes}</svg>"


def rate(bps: float | None) -> str:
    """Write a rate, or an empty text if there is none."""
    return "" if bps is None else _core.format_rate(float(f"{bps:.4g}"))


def count(number: int, what: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
