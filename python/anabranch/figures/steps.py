"""Rates and prices of paths after each step of an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anabranch.figures.panels import draw_legend, draw_words, room_above
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.axes import Axes

MARKERS = "osD^vPX"


def draw_steps(
    steps: pl.DataFrame,
    *,
    targets: Mapping[str, float],
    rates_in: str,
    title: str,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw rates after each step, and beside them the prices of the paths.

    Parameters
    ----------
    steps : DataFrame
        ``step``, ``name``, ``rate``, ``price``: a row for each subflow and step.
    targets : mapping of str to float
        The rate that each subflow tends to; dashed.
    rates_in : str
        Unit of the rates.
    title : str
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if file is not None:
        check_suffix(file)
    width, height = size_on_paper(9.6, 4.6)
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    with any_glyph():
        rates, prices = figure.subplots(1, 2)
        _draw(rates, steps, "rate")
        for number, name in enumerate(steps["name"].unique(maintain_order=True)):
            rates.axhline(
                targets[name], color=COLOURS[number % len(COLOURS)], linewidth=0.9, linestyle=(0, (5, 4)), zorder=1
            )
        _draw(prices, steps, "price")
        rates.set_ylabel(f"rate of the subflow ({rates_in})", color=INK)
        prices.set_ylabel(f"price of its path (1/({rates_in}))", color=INK)
        note_in = draw_words(figure, title, "dashed: the optimum")
        handles, labels = rates.get_legend_handles_labels()
        legend_in = draw_legend(
            figure, dict(zip(labels, handles, strict=True)), left_in=scaled(0.6), bottom_in=note_in + scaled(0.04)
        )
    left, right = scaled(0.75) / width, 1.0 - scaled(0.2) / width
    bottom, top = (scaled(0.6) + legend_in + note_in) / height, 1.0 - (room_above(title) + scaled(0.05)) / height
    figure.subplots_adjust(left=left, right=right, top=top, bottom=bottom, wspace=0.22)
    if file is not None:
        save(figure, file)
    return figure


def _draw(axes: Axes, steps: pl.DataFrame, column: str) -> None:
    for number, (name, own) in enumerate(steps.group_by("name", maintain_order=True)):
        axes.plot(
            own["step"],
            own[column],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=3.5,
            linewidth=1.2,
            label=str(name[0]),
        )
    axes.set_xlabel("step", color=INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
