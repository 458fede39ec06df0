"""Boxes with whiskers, side by side: the distributions of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.ticker import FuncFormatter, NullFormatter

from anabranch.figures.grouped import draw_grouped
from anabranch.figures.protocol_styles import looks_of
from anabranch.figures.style import INK

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

STATISTICS = {"whislo": "p5", "q1": "p25", "med": "median", "q3": "p75", "whishi": "p95"}
"""The column from which each part of a box is drawn."""

NOTE = "boxes: 25th to 75th percentile, line: median; whiskers: 5th to 95th percentile; outliers are not shown"

WIDEST = 0.3
"""The most that a box takes of the way from a group to the next."""

SHORT = 20.0
"""The ratio of the ends of a logarithmic axis with few powers of ten."""

PALE = 0.55
"""How opaque boxes are, so that the median is seen."""


def draw_boxes(
    boxes: pl.DataFrame,
    *,
    ylabel: str,
    xlabel: str = "",
    logarithmic: bool = False,
    title: str,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a group of boxes for each thing that was done in several ways.

    From the 25th to the 75th percentile, with a line at the median; whiskers reach from the 5th to the 95th, and
    nothing is drawn beyond.

    Parameters
    ----------
    boxes : DataFrame
        A row for each name and group: ``group``, ``name``, ``p5``, ``p25``, ``median``, ``p75``, ``p95``; null where
        there is no box.
    ylabel, xlabel : str
        What numbers and groups are.
    logarithmic : bool
        Of the axis of numbers. What is not over 0 reaches to its lower end, below the least that is.
    title : str
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = boxes["name"].unique(maintain_order=True).to_list()
    looks = looks_of(names)
    least, most = _reach(boxes)

    def draw(axes: Axes, name: str, at: NDArray[np.float64], width: float) -> None:
        colour = looks[name].colour
        own = boxes.filter(name=name).select(pl.col(column).alias(part) for part, column in STATISTICS.items())
        is_there = own["med"].is_not_null()
        if logarithmic:
            own = own.with_columns(pl.all().clip(lower_bound=least))
        drawn = axes.bxp(
            own.filter(is_there).rows(named=True),
            positions=at[is_there.to_numpy()],
            widths=min(0.8 * width, WIDEST),
            showfliers=False,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": (colour, PALE), "edgecolor": colour, "hatch": looks[name].hatch or None},
            medianprops={"color": INK, "linewidth": 1.6},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        drawn["boxes"][0].set_label(name)
        if logarithmic:
            _make_logarithmic(axes, least, most)

    return draw_grouped(boxes, draw, ylabel=ylabel, xlabel=xlabel, title=title, note=NOTE, file=file)


def _reach(boxes: pl.DataFrame) -> tuple[float, float]:
    """Give the ends of a logarithmic axis: a bit below the least number over 0, and above the greatest."""
    numbers = boxes.select(STATISTICS.values()).to_numpy()
    positive = numbers[numbers > 0.0]
    return (0.8 * float(positive.min()), 1.25 * float(positive.max())) if len(positive) else (0.5, 2.0)


def _make_logarithmic(axes: Axes, least: float, most: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(least, most)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    # Where there is hardly a power of ten, numbers stand at some of the small ticks too.
    few = FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "235" else "")
    axes.yaxis.set_minor_formatter(few if most / least < SHORT else NullFormatter())
