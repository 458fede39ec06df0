"""Settings as points: what each gains against what it costs, such as utilisation against delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from anabranch.figures.panels import draw_legend, draw_words, room_above
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.protocol_styles import looks_of
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import GRID, INK, SOFT_INK

if TYPE_CHECKING:
    import os

    import polars as pl


def draw_frontier(
    points: pl.DataFrame,
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a point for each setting, over a logarithmic axis, with the settings of a name in one colour.

    Parameters
    ----------
    points : DataFrame
        A row for each point: ``name``, ``label``, ``x``, ``y``.
    xlabel, ylabel : str
        What the numbers are.
    title : str
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if file is not None:
        check_suffix(file)
    names = points["name"].unique(maintain_order=True).to_list()
    looks = looks_of(names)
    figure = Figure(figsize=size_on_paper(7.2, 5.0), facecolor="white")
    with any_glyph():
        axes = figure.subplots()
        handles = {}
        for name in names:
            own = points.filter(name=name)
            look = looks[name]
            (handles[name],) = axes.plot(
                own["x"], own["y"], linestyle="none", markersize=scaled(6.0), zorder=3, **look.style
            )
            for label, x, y in own.select("label", "x", "y").iter_rows():
                axes.annotate(
                    label,
                    (x, y),
                    xytext=(5.0, 3.0),
                    textcoords="offset points",
                    size=scaled(6.5),
                    color=SOFT_INK,
                    parse_math=False,
                )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "235" else ""))
        axes.margins(x=0.15, y=0.08)
        axes.set_xlabel(xlabel, color=INK)
        axes.set_ylabel(ylabel, color=INK)
        axes.grid(visible=True, which="both", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        note_in = draw_words(figure, title, "")
        legend_in = draw_legend(figure, handles, left_in=scaled(0.6), bottom_in=note_in + scaled(0.04))
        width, height = figure.get_size_inches()
        bottom, top = (scaled(0.6) + legend_in + note_in) / height, 1.0 - room_above(title) / height
        figure.subplots_adjust(left=scaled(0.8) / width, right=1.0 - scaled(0.2) / width, top=top, bottom=bottom)
    if file is not None:
        save(figure, file)
    return figure
