"""Columns of tables: names, numbers with one unit a column, words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from anabranch import number_labels
from anabranch.commands.tables.units import RATES, TIMES, Units, aligned, padded, unit_of
from anabranch.commands.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

Room = Literal["fixed", "cut", "wrapped"]
"""What a column does where there is little room: keep its width, cut its names in the middle, or break its lines."""


@dataclass
class Column:
    """A column: its heading, its unit, and a text for each row.

    Attributes
    ----------
    leaves : int
        Turn in which the column is left out where the terminal is too narrow, the greatest first; 0 if it stays.
    """

    heading: str
    cells: list[str]
    unit: str = ""
    is_right: bool = True
    room: Room = "fixed"
    leaves: int = 0


def names(heading: str, values: Iterable[str], *, leaves: int = 0) -> Column:
    """Give a column of names, which are cut in the middle where there is too little room."""
    return Column(heading, [printable(value) for value in values], is_right=False, room="cut", leaves=leaves)


def words(heading: str, values: Iterable[str], *, is_right: bool = False, leaves: int = 0) -> Column:
    """Give a column of texts, which are broken between words where there is too little room."""
    return Column(heading, [printable(value) for value in values], is_right=is_right, room="wrapped", leaves=leaves)


def labels(heading: str, values: Iterable[str], *, is_right: bool = False, leaves: int = 0) -> Column:
    """Give a column of short texts, such as verdicts, that are neither cut nor broken."""
    return Column(heading, [printable(value) for value in values], is_right=is_right, leaves=leaves)


def rates(heading: str, values_bps: Iterable[float | None], *, leaves: int = 0) -> Column:
    """Give a column of rates in bit/s, None for an empty cell."""
    return _measured(heading, values_bps, RATES, leaves)


def times(heading: str, values_s: Iterable[float | None], *, leaves: int = 0) -> Column:
    """Give a column of times in seconds, None for an empty cell."""
    return _measured(heading, values_s, TIMES, leaves)


def numbers(heading: str, values: Iterable[float | None], *, digits: int = 3, leaves: int = 0) -> Column:
    """Give a column of numbers without a unit, None for an empty cell."""
    return Column(heading, aligned(list(values), 1.0, digits), leaves=leaves)


def told_apart(heading: str, values: Iterable[float | None], *, leaves: int = 0) -> Column:
    """Give a column of numbers such as those of an axis, with as few digits as tell them apart."""
    own = list(values)
    known = dict.fromkeys(value for value in own if value is not None)
    text = dict(zip(known, number_labels.told_apart(list(known)), strict=True))
    return Column(heading, padded(["" if value is None else text[value] for value in own]), leaves=leaves)


def shares(
    heading: str, values: Iterable[float | None], *, digits: int = 1, sign: bool = False, leaves: int = 0
) -> Column:
    """Give a column of parts of a whole in per cent, None for an empty cell."""
    form = f"{'+' if sign else ''}z.{digits}%"  # z: no negative zero
    return Column(heading, ["" if value is None else f"{value:{form}}" for value in values], leaves=leaves)


def counts(heading: str, values: Iterable[int | None], *, unit: str = "", leaves: int = 0) -> Column:
    """Give a column of whole numbers, None for an empty cell."""
    return Column(heading, ["" if value is None else str(value) for value in values], unit, leaves=leaves)


def _measured(heading: str, values: Iterable[float | None], units: Units, leaves: int) -> Column:
    own = list(values)
    scale, unit = unit_of(own, units)
    return Column(heading, aligned(own, scale), unit, leaves=leaves)
