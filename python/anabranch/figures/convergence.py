"""Rates after each pass by running time: how soon iterative solvers reach the fair rates."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GREY, GRID, INK, SOFT_INK, method_name

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl
    from matplotlib.axes import Axes

MARKERS = "osD^vPX"
"""Connections are told apart by colour and by marker."""


def draw_convergence(
    curves: pl.DataFrame,
    *,
    targets: Mapping[str, float],
    rates_in: str,
    title: str,
    caption: str = "",
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the rate of each connection by running time, one panel for each run, on the same axes.

    Parameters
    ----------
    curves : DataFrame
        A row for each run, pass and connection: ``run``, ``pass``, ``time_us`` (from the run's start to the end of
        the pass), ``connection``, ``rate``.
    targets : mapping
        The rate that each connection tends to; a dashed line.
    rates_in : str
        Unit of the rates.
    caption : str
        Below the panels.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if file is not None:
        check_suffix(file)
    runs = curves["run"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(4.4 * len(runs) + 0.8, 4.6), facecolor="white")
    with any_glyph():
        axes = figure.subplots(1, len(runs), sharex=True, sharey=True, squeeze=False)[0]
        for panel, run in zip(axes, runs, strict=True):
            _draw_run(panel, curves.filter(curves["run"] == run), targets, str(run))
        axes[0].set_ylabel(f"rate of the connection ({rates_in})", color=INK)
        axes[0].set_xscale("log")
        axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes[-1].legend(fontsize=8.5, frameon=False, loc="best")
        figure.suptitle(title, x=0.02, y=0.975, ha="left", size=12, weight="bold", color=INK, parse_math=False)
        note = textwrap.fill(caption, width=70 * len(runs))
        figure.text(0.02, 0.02, note, size=8.5, color=SOFT_INK, va="bottom", parse_math=False)
        lines = note.count("\n") + 1
        figure.subplots_adjust(left=0.085, right=0.985, top=0.85, bottom=0.17 + 0.036 * lines, wspace=0.06)
    if file is not None:
        save(figure, file)
    return figure


def _draw_run(axes: Axes, curve: pl.DataFrame, targets: Mapping[str, float], run: str) -> None:
    for number, (name, own) in enumerate(curve.group_by("connection", maintain_order=True)):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(
            own["time_us"],
            own["rate"],
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            markersize=4.0,
            markeredgecolor="white",
            markeredgewidth=0.5,
            linewidth=1.4,
            label=str(name[0]),
        )
        if name[0] in targets:
            axes.axhline(targets[str(name[0])], color=colour, linestyle=(0, (5, 4)), linewidth=0.9, zorder=1)
    passes, end = int(curve["pass"].to_numpy().max()), float(curve["time_us"].to_numpy().max())
    axes.set_title(f"{method_name(run)}: stops after {passes} passes, {end:.3g} µs", size=10, color=INK, loc="left")
    axes.axvline(end, color=GREY, linewidth=0.9, linestyle=":")
    axes.set_xlabel("running time (µs, logarithmic)", color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
