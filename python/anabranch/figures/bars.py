"""Measured numbers as grouped bars with their intervals, beside given numbers."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.figures.grouped import draw_grouped
from anabranch.figures.protocol_styles import looks_of
from anabranch.figures.style import GREY, INK, SOFT_INK

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MOST_LABELS = 40
"""The most bars that have their numbers above them."""

LARGE = 10.0
"""From here on one decimal is enough."""

HATCHES = ("", "////", "....")
"""Hatches of the given bars."""


def draw_estimates(
    bars: pl.DataFrame,
    *,
    ylabel: str,
    xlabel: str = "",
    title: str,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a group of bars for each thing that was measured in several ways.

    Parameters
    ----------
    bars : DataFrame
        A row for each bar: ``group``, ``name``, ``value``; ``half_width`` of its interval, or null; ``is_given``,
        whether it is none of ours, such as a printed number: these are hollow.
    ylabel, xlabel : str
        What numbers and groups are.
    title : str
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = bars["name"].unique(maintain_order=True).to_list()
    looks = _looks(bars, names)
    decimals = 1 if float(np.abs(bars["value"].to_numpy()).max(initial=0.0)) >= LARGE else 2

    def draw(axes: Axes, name: str, at: NDArray[np.float64], width: float) -> None:
        own = bars.filter(name=name)
        value, wide = own["value"].to_numpy(), own["half_width"].fill_null(0.0).to_numpy()
        axes.bar(at, value, 0.9 * width, label=name, linewidth=0.9, zorder=2, **looks[name])
        if wide.any():
            axes.errorbar(at, value, wide, fmt="none", ecolor=INK, elinewidth=0.9, capsize=1.8, zorder=3)
        if len(bars) <= MOST_LABELS:
            _write_numbers(axes, at, value, wide, decimals)
        if name == names[0]:
            axes.axhline(0.0, color=INK, linewidth=0.8, zorder=2)

    note = "thin lines: 95 % confidence intervals" if bars["half_width"].count() else ""
    return draw_grouped(bars, draw, ylabel=ylabel, xlabel=xlabel, title=title, note=note, file=file)


def _looks(bars: pl.DataFrame, names: list[str]) -> dict[str, dict[str, Any]]:
    """Give what ours are filled with, and the outlines of what is given."""
    given = bars.filter(pl.col("is_given"))["name"].unique(maintain_order=True).to_list()
    outlined = {
        name: {"facecolor": "white", "edgecolor": GREY if hatch else INK, "hatch": hatch}
        for name, hatch in zip(given, cycle(HATCHES), strict=False)
    }
    filled = [name for name in names if name not in outlined]
    return outlined | {name: look.fill for name, look in looks_of(filled).items()}


def _write_numbers(
    axes: Axes, at: NDArray[np.float64], value: NDArray[np.float64], wide: NDArray[np.float64], decimals: int
) -> None:
    """Write numbers beyond the ends of bars and their intervals."""
    for x, number, half_width in zip(at.tolist(), value.tolist(), wide.tolist(), strict=True):
        is_down = number < 0.0
        axes.annotate(
            f"{number:.{decimals}f}",
            (x, number - half_width if is_down else number + half_width),
            xytext=(0.0, -3.0 if is_down else 3.0),
            textcoords="offset points",
            ha="center",
            va="top" if is_down else "bottom",
            size=7.0,
            color=SOFT_INK,
        )
