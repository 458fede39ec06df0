"""Rates and prices of fluid models over steps or time, a column for each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from anabranch.figures.panels import WIDTHS, draw_legend, draw_words
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK

if TYPE_CHECKING:
    import os

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def draw_fluid(
    series: pl.DataFrame,
    *,
    title: str,
    xlabel: str = "step",
    price: str = "marking probability",
    top: float | None = None,
    note: str = "",
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a column of panels for each model: rates or windows above, and prices below where there are some.

    Parameters
    ----------
    series : DataFrame
        A row for each value: ``run``, ``at``, ``name``, ``value``. Names begin with x for rates, w for windows, p for
        prices.
    xlabel, price : str
        What ``at`` and prices are.
    top : float, optional
        Where the axis of the rates ends.
    title, note : str
        Above and below.
    file : path, optional
        Saved there, as SVG or PNG by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if file is not None:
        check_suffix(file)
    runs = series["run"].unique(maintain_order=True).to_list()
    has_prices = series["name"].str.starts_with("p").any()
    width, height = 4.4 * max(len(runs), 2) + 0.8, 6.2 if has_prices else 3.9
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    labels: dict[str, Artist] = {}
    with any_glyph():
        grid = figure.subplots(2 if has_prices else 1, len(runs), sharex="col", sharey="row", squeeze=False)
        for column, run in enumerate(runs):
            own = series.filter(pl.col("run") == run)
            above = own.filter(~pl.col("name").str.starts_with("p"))
            _draw(grid[0, column], above)
            grid[0, column].set_title(str(run), size=10, color=INK, loc="left", parse_math=False)
            if has_prices:
                _draw(grid[1, column], own.filter(pl.col("name").str.starts_with("p")))
            lowest = grid[-1, column] if grid[-1, column].get_lines() else grid[0, column]
            lowest.set_xlabel(xlabel, color=INK)
            lowest.tick_params(labelbottom=True)
            labels |= {name: line for line, name in zip(*grid[0, column].get_legend_handles_labels(), strict=True)}
            if has_prices:
                labels |= {name: line for line, name in zip(*grid[1, column].get_legend_handles_labels(), strict=True)}
        has_windows = series["name"].str.starts_with("w").any()
        grid[0, 0].set_ylabel("window (packets)" if has_windows else "rate", color=INK)
        if has_prices:
            grid[1, 0].set_ylabel(price, color=INK)
        # Only when all is drawn: panels of a row have one axis.
        for axes in grid.ravel().tolist():
            axes.set_xlim(left=0.0)
            axes.set_ylim(bottom=0.0)
            if not axes.get_lines():
                axes.set_axis_off()
        grid[0, 0].set_ylim(top=top)
        note_in = draw_words(figure, title, note)
        legend_in = draw_legend(figure, labels, left_in=0.6, bottom_in=note_in + 0.04)
        bottom = (0.55 + legend_in + note_in) / height
        figure.subplots_adjust(
            left=0.8 / width, right=1.0 - 0.2 / width, top=1.0 - 0.75 / height, bottom=bottom, wspace=0.1, hspace=0.1
        )
    if file is not None:
        save(figure, file)
    return figure


def _draw(axes: Axes, own: pl.DataFrame) -> None:
    """Draw each series, the first one widest: several may lie on each other."""
    for number, (name, values) in enumerate(own.group_by("name", maintain_order=True)):
        colour, width = COLOURS[number % len(COLOURS)], WIDTHS[number % len(WIDTHS)]
        axes.plot(values["at"], values["value"], label=str(name[0]), color=colour, linewidth=width)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
