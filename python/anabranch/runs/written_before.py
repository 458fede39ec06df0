"""Folders that earlier versions have written, as tables of today.

Until version 0.1 a folder had one table ``series`` for all kinds of things. Its column ``of`` said of which kind a row
was, ``name`` of which thing, and columns of other kinds were null. A path was a text: its links with a sign between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.runs.columns import KINDS, RUN, THINGS, columns_of
from anabranch.runs.series import Series

if TYPE_CHECKING:
    from collections.abc import Collection

SERIES = "series"
"""The table that had what was sampled of all kinds of things."""

PATH_SIGN = " > "
"""The text that stood between the names of the links of a path."""


def series_by_kind(table: pl.DataFrame) -> Series:
    """Give the table of all kinds of things as a table for each, with the columns that have some value."""
    tables = {kind: own for kind in KINDS if len(own := rows_of(table.lazy(), kind).collect())}
    return Series({kind: _without_empty(own) for kind, own in tables.items()})


def rows_of(table: pl.LazyFrame, kind: str, *others: str) -> pl.LazyFrame:
    """Give the rows of a kind of thing of the table of all kinds, with all columns that this kind has, and others."""
    thing = THINGS.get(kind)
    name = [] if thing is None else [pl.col("name").alias(thing)]
    there = table.collect_schema()
    columns = [column.name for column in columns_of(kind) if column.name in there]
    return table.filter(pl.col("of") == (thing or RUN)).select("time_s", *name, *columns, *others)


def _without_empty(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(column for column in table if column.count() or not len(column))


def with_path_lists(subflows: pl.DataFrame, links: Collection[str]) -> pl.DataFrame:
    """Give subflows with their paths as lists of links, whether they are so already or texts.

    Parameters
    ----------
    subflows : DataFrame
    links : collection of str
        The names of the links of the network.

    Raises
    ------
    ScenarioError
        A link of a path is not in the network.
    """
    if subflows.schema["path"] != pl.String:
        return subflows
    known = frozenset(links)
    paths = [_path(text, known) for text in subflows["path"]]
    return subflows.with_columns(pl.Series("path", paths, dtype=pl.List(pl.String)))


def _path(text: str, links: Collection[str]) -> list[str]:
    """Give the links of a path; a name may itself have the sign that stood between names."""
    path, name = [], ""
    for part in text.split(PATH_SIGN) if text else ():
        name = f"{name}{PATH_SIGN}{part}" if name else part
        if name in links:
            path.append(name)
            name = ""
    if name:
        raise ScenarioError(f"path `{text}`: there is no link `{name}` in the network; run the scenario again")
    return path
