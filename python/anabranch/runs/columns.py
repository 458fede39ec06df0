"""The columns of what is sampled over time: of which kind of thing each is, its unit and its type.

A column that stands here is in the tables of every run that recorded it, in their Parquet files, and in the
documentation. Nothing else lists columns but what the page shows of them.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from anabranch import _core

THINGS = {"connections": "connection", "subflows": "subflow", "links": "link"}
"""The kinds of things that have names, each with what one of them is called: the column that has its name."""

RUN = "run"
"""The kind of what is sampled of the run as a whole."""

KINDS = (*THINGS, RUN)
"""The kinds of things that are sampled, in the order of the tables."""

RECORDED_BY = {**{kind: kind for kind in THINGS}, RUN: "fairness"}
"""The word under ``record`` that samples each kind of thing."""

TYPES: dict[str, type[pl.DataType]] = {"f64": pl.Float64, "u64": pl.UInt64, "u32": pl.UInt32}


class Column(NamedTuple):
    """A column of what is sampled of a kind of thing."""

    of: str
    name: str
    unit: str
    dtype: type[pl.DataType]

    @property
    def key(self) -> str:
        """The name of the array of its samples, such as ``link_carried_bps``; for columns of the run the name alone."""
        return self.name if self.of == RUN else f"{self.of}_{self.name}"


SAMPLED = tuple(
    Column(of, name, unit, TYPES[dtype]) for of, name, unit, dtype in _core.COLUMNS if of in (*THINGS.values(), RUN)
)
"""The columns that simulations and live runs sample."""

DERIVED = (Column("connection", "error", "", pl.Float64), Column("link", "error", "", pl.Float64))
"""The columns that follow from those; see `anabranch.runs.derived`."""

COLUMNS = (*SAMPLED, *DERIVED)
"""All columns, in the order of the tables."""


def columns_of(kind: str) -> tuple[Column, ...]:
    """Give the columns of a kind of thing."""
    of = THINGS.get(kind, kind)
    return tuple(column for column in COLUMNS if column.of == of)


def kind_of(thing: str) -> str:
    """Give the kind of which a thing is: ``links`` of ``link``."""
    return next((kind for kind, own in THINGS.items() if own == thing), thing)


def schema_of(kind: str) -> dict[str, type[pl.DataType]]:
    """Give the columns of a table of all that is sampled of a kind of thing, with their types."""
    name = {THINGS[kind]: pl.String} if kind in THINGS else {}
    return {"time_s": pl.Float64, **name, **{column.name: column.dtype for column in columns_of(kind)}}
