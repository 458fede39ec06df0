"""Reduction of the tables of runs to numbers: one for each run and group, or several that stay apart.

The rows of all runs are read in streams and never held at once. Percentiles and values that stay apart need the values
themselves: for these the rows are read twice, and a value and the number of its group are kept of each. The same runs
give the same numbers, bit for bit: streams come in no order, so sums are taken as in `anabranch.sweeps.exact_sums`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.sweeps.exact_sums import COUNT, SQUARES, SUM, sums
from anabranch.sweeps.expression import check_columns, expression
from anabranch.sweeps.quantity import EACH, PERCENTILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.sweeps.quantity import SweepQuantity

RUN = "run"

VALUE = pl.col("value")

ROW = "row of the frame"
"""A column of our own; nothing that is varied is called so."""

GROUP = "number of the group"

JOINED = "what values come to"

POINT = "point"
"""The number of a row's point. Several points may be one run, whose rows then are there once for each."""

COUNTED = "whether a row counts"

SUMMED = {
    "mean": pl.col(SUM) / pl.col(COUNT),
    "sum": pl.when(pl.col(COUNT) > 0).then(SUM),
    "jain": pl.col(SUM) ** 2 / (pl.col(COUNT) * pl.col(SQUARES)),
    "count": pl.col(COUNT).cast(pl.Float64),
}
"""Reductions that are computed from sums of each group. `jain` is Jain's index [jain1984]; an empty group has none."""

REDUCED = {
    "least": VALUE.min(),
    "most": VALUE.max(),
    "first": VALUE.drop_nulls().first(),
    "last": VALUE.drop_nulls().last(),
}
"""Reductions that pick one value of each group, and are found without keeping all values."""


def numbers(frame: pl.LazyFrame, quantity: SweepQuantity, groups: Sequence[str]) -> pl.DataFrame:
    """Give a number for each run and group, or several if they stay apart.

    Parameters
    ----------
    frame : LazyFrame
        ``run``, what was varied, and the columns of a table: the rows of all runs. Where several points are one run,
        each with the rows of the run, ``point``, a number for each, tells them apart.
    quantity : SweepQuantity
    groups : sequence of str
        Columns by which numbers are kept apart.

    Returns
    -------
    DataFrame
        The groups, ``run``, ``value``, and ``left_out``: how many values of that run and group were null, infinite or
        no number. In the order in which groups and runs first appear; finite throughout. Where no value is left there
        is no row. In each group the rows of a run count once: those of its first point of which any row counts.

    Raises
    ------
    ScenarioError
        A column that is not there, SQL that cannot be computed, or that does not take each row by itself, a value that
        is no number, a condition that is neither true nor false.
    """
    return all_numbers(frame, quantity, groups).drop_nulls("value")


def all_numbers(frame: pl.LazyFrame, quantity: SweepQuantity, groups: Sequence[str]) -> pl.DataFrame:
    """Give what `numbers` does, and a row with null where no value is left."""
    keys = list(dict.fromkeys([*groups, RUN]))
    schema = frame.collect_schema()
    check_columns(quantity, keys, schema)
    value = expression(quantity, "value", schema)
    counts = expression(quantity, "where", schema)
    rows = frame.with_row_index(ROW)
    if quantity.join != "count":
        # Of runs in which nothing meets the condition there are none, and that is a number.
        rows = rows.filter(counts)
    known = value.cast(pl.Float64)
    finite = pl.when(counts & known.is_finite()).then(known)
    apart = list(dict.fromkeys([*keys, POINT])) if POINT in schema else keys
    about = {ROW: pl.col(ROW), "value": finite, "left_out": counts & finite.is_null(), COUNTED: counts}
    try:
        return _joined(rows.select(*apart, **about), keys, apart, quantity.join)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        remedy = "see that `value` and `where` can be computed in every row, and that the files of the runs are whole"
        raise ScenarioError(f"{quantity.place}: its numbers cannot be computed ({reason}); {remedy}") from error


def _joined(rows: pl.LazyFrame, keys: list[str], apart: list[str], join: str) -> pl.DataFrame:
    """Give what the values of each run and group come to, of rows whose points are kept apart."""
    about = [pl.col(ROW).min(), pl.col("left_out").sum(), pl.col(COUNTED).any()]
    if join in SUMMED:
        known = sums(rows, apart, about).with_columns(SUMMED[join].alias(JOINED))
    else:
        own = [REDUCED[join].alias(JOINED)] if join in REDUCED else []
        known = rows.group_by(apart).agg(*about, *own).collect(engine="streaming")
    known = _once(known, keys, apart).sort(ROW)
    if JOINED not in known.columns:
        known = known.with_row_index(GROUP)
        numbered = rows.select(*apart, "value").join(known.lazy().select(GROUP, *apart), on=apart, nulls_equal=True)
        kept = numbered.select(GROUP, "value").group_by(GROUP).agg(_of_all(join).alias(JOINED))
        known = known.join(kept.collect(engine="streaming"), on=GROUP, maintain_order="left")
        known = known.explode(JOINED) if join == EACH else known
    finite = pl.when(pl.col(JOINED).is_finite()).then(JOINED).alias("value")
    return known.select(*keys, finite, pl.col("left_out").cast(pl.Int64))


def _once(known: pl.DataFrame, keys: list[str], apart: list[str]) -> pl.DataFrame:
    """Leave of each run and group the first point of which a row counts, or else the first."""
    if apart == keys:
        return known
    placed = known.with_columns(pl.col(ROW).min().over(keys))
    first = placed.sort(COUNTED, POINT, descending=[True, False])
    return first.unique(keys, keep="first")


def _of_all(join: str) -> pl.Expr:
    """Give what needs all values of a group."""
    if join == EACH:
        return VALUE.drop_nulls().sort()
    percentile = PERCENTILE.fullmatch(join)
    return VALUE.quantile(float(percentile[1]) / 100.0 if percentile else 0.5, interpolation="linear")
