"""Measured numbers as bars beside each other, with their intervals, and given ones beside them."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from anabranch.figures.panels import draw_legend, draw_words, size_in
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GREY, GRID, INK, SOFT_INK

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MOST_LABELS = 40
"""Beyond so many bars their numbers are not written above them."""

LARGE = 10.0
"""From here on one decimal is enough."""

HATCHES = ("", "////", "....")
"""Of bars that are given."""


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
        Saved there, as SVG or PNG by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if file is not None:
        check_suffix(file)
    groups, names = (bars[column].unique(maintain_order=True).to_list() for column in ("group", "name"))
    figure = Figure(figsize=(min(max(6.4, 1.2 + 0.27 * len(bars) + 0.3 * len(groups)), 13.0), 4.6), facecolor="white")
    width, height = figure.get_size_inches()
    thickness = 0.84 / len(names)
    looks = _looks(bars, names)
    decimals = 1 if float(np.abs(bars["value"].to_numpy()).max(initial=0.0)) >= LARGE else 2
    with any_glyph():
        axes = figure.subplots()
        for place, name in enumerate(names):
            own = bars.filter(pl.col("name") == name)
            at = (
                np.array([groups.index(group) for group in own["group"]]) + (place - (len(names) - 1) / 2.0) * thickness
            )
            value, wide = own["value"].to_numpy(), own["half_width"].fill_null(0.0).to_numpy()
            axes.bar(at, value, 0.9 * thickness, label=name, linewidth=0.9, zorder=2, **looks[name])
            if wide.any():
                axes.errorbar(at, value, wide, fmt="none", ecolor=INK, elinewidth=0.9, capsize=1.8, zorder=3)
            if len(bars) <= MOST_LABELS:
                _write_numbers(axes, at, value, wide, decimals)
        axes.axhline(0.0, color=INK, linewidth=0.8, zorder=2)
        axes.set_xticks(np.arange(len(groups)), labels=groups, size=9, color=INK, parse_math=False)
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.set_ylabel(ylabel, color=INK)
        axes.set_xlabel(xlabel, color=INK)
        axes.margins(y=0.1)
        axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.tick_params(axis="x", length=0)
        note = "thin lines: 95 % confidence intervals" if bars["half_width"].count() else ""
        note_in = draw_words(figure, title, note)
        handles, labels = axes.get_legend_handles_labels()
        lines = dict(zip(labels, handles, strict=True))
        legend_in = draw_legend(figure, lines, left_in=0.6, bottom_in=note_in + 0.04)
        bottom_in = (0.6 if xlabel else 0.4) + legend_in + note_in
        figure.subplots_adjust(
            left=0.75 / width, right=1.0 - 0.2 / width, top=1.0 - 0.55 / height, bottom=bottom_in / height
        )
        ticks_in = max(size_in(label)[0] for label in axes.get_yticklabels())
        figure.subplots_adjust(left=max(0.75, ticks_in + 0.5) / width)
    if file is not None:
        save(figure, file)
    return figure


def _looks(bars: pl.DataFrame, names: list[str]) -> dict[str, dict[str, Any]]:
    """Give what ours are filled with, and the outlines of what is given."""
    given = bars.filter(pl.col("is_given"))["name"].unique(maintain_order=True).to_list()
    outlined = {
        name: {"facecolor": "white", "edgecolor": GREY if hatch else INK, "hatch": hatch}
        for name, hatch in zip(given, cycle(HATCHES), strict=False)
    }
    filled = [name for name in names if name not in outlined]
    return outlined | {name: {"facecolor": colour} for name, colour in zip(filled, cycle(COLOURS), strict=False)}


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
