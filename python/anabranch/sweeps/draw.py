"""Figures over the runs of a sweep, drawn from their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.figures import draw_bands, draw_boxes, draw_distributions
from anabranch.figures.bands import are_crowded
from anabranch.figures.paper import is_titled
from anabranch.sweeps.order import words_of
from anabranch.sweeps.words import words_for

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from anabranch.sweeps.quantity import SweepFigure


METHODS = {"student": "Student's t", "bootstrap": "bootstrap"}


def draw_numbers(
    numbers: pl.DataFrame, plan: SweepFigure, file: str | os.PathLike[str] | None = None, *, pooled: Sequence[str] = ()
) -> Figure:
    """Draw the numbers of a figure, and save the figure if `file` is given.

    `anabranch.sweeps.figure_data.drawn_numbers` gives `numbers`. A line below the figure names the columns that the
    means are over: `pooled`, as `anabranch.sweeps.figure_data.pooled` gives it.

    Raises
    ------
    ScenarioError
        An axis cannot be logarithmic, or there are too many panels.
    """
    named = numbers.with_columns(
        _words(numbers, plan.panels, "").alias("panel"), _words(numbers, plan.lines, plan.words).alias("name")
    )
    measure = plan.label or (plan.xlabel if plan.draw == "cdf" else plan.ylabel) or plan.words
    words: dict[str, Any] = {"title": (plan.title or measure) if is_titled() else "", "file": file}
    if plan.draw == "cdf":
        words |= {"xlabel": plan.xlabel or plan.words}
        words |= {"ylabel": plan.ylabel} if plan.ylabel else {}
        return draw_distributions(named, log=plan.log, **words)
    words |= {"xlabel": plan.xlabel or words_for(plan.x or ""), "ylabel": plan.ylabel or plan.words}
    assert plan.x is not None, "lines and boxes have a column along the axis"
    at = numbers[plan.x]
    if plan.draw == "boxes":
        return draw_boxes(named.with_columns(words_of(at).alias("group")), logarithmic="y" in plan.log, **words)
    if "x" in plan.log and not at.dtype.is_numeric():
        remedy = "leave `x` out of `log`, or take a column of numbers"
        raise ScenarioError(f"{plan.place}: `{plan.x}` is no number, so its axis cannot be logarithmic; {remedy}")
    along = at if at.dtype.is_numeric() else words_of(at)
    named = named.with_columns(along.alias("x")).drop_nulls("x")
    is_joined = along.dtype.is_numeric()
    note = _note(numbers, pooled, is_joined=is_joined, has_bands=is_joined and not are_crowded(named))
    return draw_bands(named, log=plan.log, note=note, **words)


def _words(numbers: pl.DataFrame, column: str | None, otherwise: str) -> pl.Expr | pl.Series:
    return pl.lit(otherwise) if column is None else words_of(numbers[column], column)


def _note(numbers: pl.DataFrame, pooled: Sequence[str], *, is_joined: bool, has_bands: bool) -> str:
    """Say of how many runs means are, over which columns, and how their intervals were found."""
    counts = numbers["count"].unique().sort().to_list()
    runs = " to ".join(dict.fromkeys((str(counts[0]), str(counts[-1])))) + f" run{'' if counts[-1] == 1 else 's'}"
    over = f", over {_listed(pooled)}" if pooled else ""
    methods = [METHODS[name] for name in numbers["interval"].drop_nulls().unique().sort(descending=True)]
    mean, interval = "line" if is_joined else "point", "band" if has_bands else "bar"
    bands = f"; {interval}: its 95 % confidence interval ({' or '.join(methods)})" if methods else ""
    return f"{mean}: mean over {runs}{over}{bands}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
