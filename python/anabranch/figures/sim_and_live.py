"""Two runs of one scenario laid over each other: rates and round trips of a connection over time."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

from anabranch.figures.panels import draw_legend, draw_words, rate_unit
from anabranch.figures.save import any_glyph, save
from anabranch.figures.style import COLOURS, GRID, INK

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from anabranch.runs.result import Result


def draw_overlaid(
    results: Mapping[str, Result], connection: str, *, file: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw what a connection delivered over time, and below the round trips of its subflows, a colour for each run.

    Parameters
    ----------
    results : mapping of str to Result
        Runs by their names; of the same connections and subflows.
    connection : str
        Which.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = Figure(figsize=(8.6, 5.6), facecolor="white")
    with any_glyph():
        rates, times = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        series = {name: _samples(result, connection) for name, result in results.items()}
        most = [frame["delivered_bps"].max() for own in series.values() for frame in own]
        scale, unit = rate_unit(max((float(value) for value in most if isinstance(value, float)), default=0.0))
        labels = {}
        for (name, result), colour in zip(results.items(), cycle(COLOURS), strict=False):
            whole, parts = series[name]
            labels[name], *_ = rates.plot(whole["time_s"], whole["delivered_bps"] / scale, color=colour, linewidth=1.2)
            paths = result.subflows.filter(pl.col("connection") == connection)["subflow"]
            for subflow, style in zip(paths, cycle(("-", "--", ":", "-.")), strict=False):
                line = parts.filter(pl.col("subflow") == subflow)
                times.plot(line["time_s"], line["rtt_s"] * 1e3, color=colour, linestyle=style, linewidth=1.0)
        rates.set_ylabel(f"delivered ({unit})", color=INK)
        times.set_ylabel("round trip (ms)", color=INK)
        times.set_xlabel("time (s)", color=INK)
        times.set_xlim(0.0, max(result.meta["reached_s"] for result in results.values()) or 1.0)
        for panel in (rates, times):
            panel.set_ylim(bottom=0.0)
            panel.grid(visible=True, color=GRID, linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
        below = draw_words(figure, connection, "round trips: the first path is a full line, others are broken")
        draw_legend(figure, labels, left_in=0.6, bottom_in=below + 0.04)
        figure.subplots_adjust(left=0.1, right=0.98, top=0.91, bottom=0.19, hspace=0.12)
    if file is not None:
        save(figure, file)
    return figure


def _samples(result: Result, connection: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give what was sampled of a connection, and of its subflows."""
    own = result.subflows.filter(pl.col("connection") == connection)["subflow"].to_list()
    whole = result.series["connections"].filter(pl.col("connection") == connection)
    return whole, result.series["subflows"].filter(pl.col("subflow").is_in(own))
