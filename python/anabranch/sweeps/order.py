"""The order and the names of groups of runs in tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch import _core
from anabranch.number_labels import told_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

PLACE = "place of the row"

NONE = "none"
"""The name of null; if a text is the same, the name is `NULL`."""

NULL = "null"

EMPTY = '""'
"""The name of an empty text."""


def in_order(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Sort rows by the first column, then by the next: numbers from the least on, text as it first appears."""
    if not columns:
        return frame
    numbered = frame.with_row_index(PLACE)
    first = pl.col(PLACE).min()
    keys = [first.over(column) if frame.schema[column] == pl.String else pl.col(column) for column in columns]
    return numbered.sort(keys, nulls_last=True, maintain_order=True).drop(PLACE)


def words_of(values: pl.Series, column: str = "") -> pl.Series:
    """Give words for the values of a group: to protocols their titles, to numbers what they are of, if `column` says.

    Different values have different words.
    """
    known = values.unique(maintain_order=True).to_list()
    prefix = f"{column} = " if column and values.dtype != pl.String else ""
    words = dict.fromkeys(known, "")
    numbers = [value for value in known if isinstance(value, float)]
    words |= {value: prefix + word for value, word in zip(numbers, told_apart(numbers), strict=True)}
    for value in (value for value in known if not words[value]):
        words[value] = _title(value, known) if isinstance(value, str) else prefix + _plain(value, known)
    return pl.Series(values.name, [words[value] for value in values.to_list()], dtype=pl.String)


def _title(name: str, names: Sequence[str]) -> str:
    title = {own: title for own, title, *_ in _core.protocols()}.get(name, name)
    return (name if title in names else title) or EMPTY


def _plain(value: object, values: Sequence[object]) -> str:
    if value is None:
        return NULL if NONE in values else NONE
    return str(value).lower() if isinstance(value, bool) else str(value)
