"""Groups side by side in one frame, with a shape of each name in each of them: bars, boxes."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from anabranch.figures.panels import draw_legend, draw_words, room_above, size_in
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import GRID, INK

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

FILLED = 0.84
"""The part of its room that a group takes."""

LETTER_IN, LINE_IN = 0.085, 0.15
"""The width of a letter and the height of a line of a group's name."""


def draw_grouped(
    rows: pl.DataFrame,
    draw: Callable[[Axes, str, NDArray[np.float64], float], None],
    *,
    ylabel: str,
    xlabel: str,
    title: str,
    note: str,
    file: str | os.PathLike[str] | None,
) -> Figure:
    """Draw the shapes of each name, a row of ``group`` and ``name`` for each.

    `draw` is told the axes, the name, where the middles of its shapes are, in the order of its rows, and how wide one
    may be.
    """
    if file is not None:
        check_suffix(file)
    groups, names = (rows[column].unique(maintain_order=True).to_list() for column in ("group", "name"))
    wanted_in = min(max(6.4, 1.2 + 0.27 * len(rows) + 0.3 * len(groups)), 13.0)
    figure = Figure(figsize=size_on_paper(wanted_in, 4.6), facecolor="white")
    width = FILLED / len(names)
    with any_glyph():
        axes = figure.subplots()
        for place, name in enumerate(names):
            own = [groups.index(group) for group in rows.filter(name=name)["group"]]
            draw(axes, name, np.array(own) + (place - (len(names) - 1) / 2.0) * width, width)
        letters = max(int((figure.get_figwidth() - scaled(1.0)) / len(groups) / scaled(LETTER_IN)), 1)
        labels = ["\n".join(_filled(line, letters) for line in group.split("\n")) for group in groups]
        axes.set_xticks(np.arange(len(groups)), labels=labels, size=scaled(9), color=INK, parse_math=False)
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.set_ylabel(ylabel, color=INK)
        axes.set_xlabel(xlabel, color=INK)
        axes.margins(y=0.1)
        axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.tick_params(axis="x", length=0)
        _frame(
            figure, axes, title, note, more_in=scaled(LINE_IN) * max((label.count("\n") for label in labels), default=0)
        )
    if file is not None:
        save(figure, file)
    return figure


def _filled(line: str, letters: int) -> str:
    return fill(line, letters, break_long_words=False, break_on_hyphens=False)


def _frame(figure: Figure, axes: Axes, title: str, note: str, *, more_in: float) -> None:
    """Write the title above, and below the legend and the note; group names take `more_in` besides a line."""
    width, height = figure.get_size_inches()
    note_in = draw_words(figure, title, note)
    handles, labels = axes.get_legend_handles_labels()
    lines, left_in = dict(zip(labels, handles, strict=True)), scaled(0.75)
    legend_in = draw_legend(figure, lines, left_in=scaled(0.6), bottom_in=note_in + scaled(0.04))
    bottom_in = scaled(0.6 if axes.get_xlabel() else 0.4) + more_in + legend_in + note_in
    top, right = 1.0 - room_above(title) / height, 1.0 - scaled(0.2) / width
    figure.subplots_adjust(left=left_in / width, right=right, top=top, bottom=bottom_in / height)
    ticks_in = max(size_in(label)[0] for label in axes.get_yticklabels(which="both"))
    figure.subplots_adjust(left=max(left_in, ticks_in + scaled(0.5)) / width)
