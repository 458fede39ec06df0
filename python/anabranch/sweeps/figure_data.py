"""The data of figures over the runs of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.sweeps.expression import expression
from anabranch.sweeps.intervals import estimates
from anabranch.sweeps.order import in_order
from anabranch.sweeps.reduce import RUN, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.sweeps.quantity import SweepFigure

PARTS = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
"""The quantiles that a box shows."""

STEPS = 2_000
"""A curve with more steps is drawn with as many, each so high that it takes in several."""

VALUE = pl.col("value")

RANK = "how many are no greater"
COUNT = "how many there are"
"""Columns of our own; nothing that is varied is called so."""


def drawn_numbers(frame: pl.LazyFrame, plan: SweepFigure) -> pl.DataFrame:
    """Give the numbers of a figure.

    Returns
    -------
    DataFrame
        The columns of panels, of lines and along the axis; and of lines what `anabranch.sweeps.intervals.estimates`
        gives; of boxes ``count``, ``runs``, ``p5``, ``p25``, ``median``, ``p75`` and ``p95``; of curves ``value`` and
        ``share``, what part of the numbers is no greater, at about `STEPS` values at most.

    Raises
    ------
    ScenarioError
        The quantity cannot be computed, or there is no number.
    """
    columns = plan.drawn
    found = in_order(numbers(frame, plan, plan.groups), columns)
    if not len(found):
        reason = "there is nothing to draw: no row counts, or none has a value"
        raise ScenarioError(f"{plan.place}: {reason}; see `value` and `where`")
    if plan.draw == "lines":
        return estimates(found, columns, plan.interval)
    return _boxes(found, columns) if plan.draw == "boxes" else _curves(found, columns)


def pooled(frame: pl.LazyFrame, plan: SweepFigure, varied: Sequence[str]) -> list[str]:
    """Give the varied columns that differ among runs which a figure does not distinguish."""
    schema = frame.collect_schema()
    columns = plan.drawn
    others = [column for column in varied if column in schema and column not in columns]
    if not others:
        return []
    counted = frame.filter(expression(plan, "where", schema)).select(*columns, *others).unique()
    differ = pl.col(others).n_unique() > 1
    rows = counted.collect(engine="streaming")
    found = rows.group_by(columns).agg(differ) if columns else rows.select(differ)
    return [column for column in others if found[column].any()]


def _boxes(found: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    parts = (VALUE.quantile(part, interpolation="linear").alias(name) for name, part in PARTS.items())
    about = (pl.len().cast(pl.Int64).alias("count"), pl.col(RUN).n_unique().cast(pl.Int64).alias("runs"))
    return found.group_by(columns, maintain_order=True).agg(*about, *parts)


def _curves(found: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Give the steps of each distribution, thinned where there are many; the least and the greatest value stay."""
    whole = [pl.col(column) for column in columns] or [pl.lit(0)]
    # Division by a number that is the same in all rows is rounded otherwise, so that number is a column.
    counted = in_order(found.select(*columns, "value"), [*columns, "value"]).with_columns(
        pl.int_range(1, pl.len() + 1).over(whole).alias(RANK), pl.len().over(whole).alias(COUNT)
    )
    step = (pl.col(RANK) * STEPS / pl.col(COUNT)).ceil()
    last_of_value = (VALUE.diff(-1) != 0.0).fill_null(value=True).over(whole)
    last_of_step = (step.diff(-1) != 0.0).fill_null(value=True).over(whole)
    is_first = pl.int_range(pl.len()).over(whole) == 0
    kept = counted.filter(last_of_value).filter(is_first | last_of_step)
    return kept.select(*columns, "value", (pl.col(RANK) / pl.col(COUNT)).alias("share"))
