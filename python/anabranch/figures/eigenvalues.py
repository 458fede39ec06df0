"""Eigenvalues of aggregation trees, and the stability of the difference equation, over step sizes of prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from anabranch.figures.panels import draw_legend, draw_words, room_above
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GREY, GRID, INK

if TYPE_CHECKING:
    import os

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    Lines = tuple[tuple[str, str, str, str], ...]

REAL: Lines = (
    ("real", COLOURS[0], "-", "eigenvalue with the greatest part"),
    ("least-real", COLOURS[5], "-", "with the least real part"),
    ("printed-real", COLOURS[1], "--", "as printed, with 1/4"),
)
IMAGINARY: Lines = (
    ("imaginary", COLOURS[0], "-", "eigenvalue with the greatest part"),
    ("printed-imaginary", COLOURS[1], "--", "as printed, with 1/4"),
)
MODULUS: Lines = (
    ("at-once", COLOURS[2], "-", "all values at once"),
    ("in-turn", COLOURS[3], "-", "price before rate"),
)
"""Names of series, and how each is drawn."""

MODULI = (0.6, 1.6)
"""The axis of what a distance is multiplied by."""


def draw_eigenvalues(
    series: pl.DataFrame, *, title: str, note: str = "", file: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw a column for each tree: real parts, imaginary parts, and what an interval multiplies distances by.

    Parameters
    ----------
    series : DataFrame
        A row for each value: ``run``, ``at``, ``name``, ``value``; ``at`` in times the bound. Names are ``real``,
        ``least-real``, ``imaginary``, the same as printed, ``at-once`` and ``in-turn`` with whether it rests, and
        ``at-once-bound``.
    title, note : str
        Above and below.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if file is not None:
        check_suffix(file)
    runs = series["run"].unique(maintain_order=True).to_list()
    width, height = size_on_paper(3.4 * max(len(runs), 2) + 0.8, 8.2)
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    labels: dict[str, Artist] = {}
    with any_glyph():
        grid = figure.subplots(3, len(runs), sharex=True, sharey="row", squeeze=False)
        for column, run in enumerate(runs):
            own = {
                str(name[0]): values.sort("at")
                for name, values in series.filter(pl.col("run") == run).group_by("name", maintain_order=True)
            }
            for axes, lines in zip(grid[:, column], (REAL, IMAGINARY, MODULUS), strict=True):
                labels |= _draw(axes, own, lines)
            grid[0, column].set_title(str(run), size=scaled(10), color=INK, loc="left", parse_math=False)
            grid[2, column].set_xlabel("step size of prices (times the bound)", color=INK)
        for axes, label in zip(grid[:, 0], ("real part", "imaginary part", "factor of an interval"), strict=True):
            axes.set_ylabel(label, color=INK)
        grid[0, 0].set_xscale("log")
        grid[1, 0].set_yscale("symlog", linthresh=0.1)
        grid[1, 0].set_ylim(bottom=0.0)
        grid[2, 0].set_ylim(MODULI)
        note_in = draw_words(figure, title, note)
        legend_in = draw_legend(figure, labels, left_in=scaled(0.6), bottom_in=note_in + scaled(0.04))
    figure.subplots_adjust(
        left=scaled(0.8) / width,
        right=1.0 - scaled(0.2) / width,
        top=1.0 - (room_above(title) + scaled(0.2)) / height,
        bottom=(scaled(0.55) + legend_in + note_in) / height,
        wspace=0.1,
        hspace=0.1,
    )
    if file is not None:
        save(figure, file)
    return figure


def _draw(axes: Axes, own: dict[str, pl.DataFrame], lines: Lines) -> dict[str, Artist]:
    """Draw a panel of a tree; give what its legend is made of."""
    labels: dict[str, Artist] = {
        "the bound of theorem 8.2": axes.axvline(1.0, color=INK, linewidth=1.0, linestyle=":"),
        "1 / (zeta K')": axes.axvline(own["at-once-bound"]["value"][0], color=GREY, linewidth=1.0, linestyle="-."),
    }
    for name, colour, style, label in lines:
        values = own[name]
        (labels[label],) = axes.plot(values["at"], values["value"], color=colour, linestyle=style, linewidth=1.6)
        if f"{name}-rests" in own:
            rests = own[f"{name}-rests"]["value"] > 0.5
            for which, marker in ((rests, "o"), (~rests, "x")):
                some = values.filter(which)
                axes.plot(some["at"], some["value"], marker, color=colour, markersize=3.5)
    if lines is MODULUS:
        axes.axhline(1.0, color=GREY, linewidth=0.8)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return labels
