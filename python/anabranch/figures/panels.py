"""Panels over time, one for each result, side by side on the same axes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anabranch.errors import ScenarioError
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK, SOFT_INK

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from anabranch.result import Result

    Results: TypeAlias = Result | Mapping[str, Result]

MOST_LINES = len(COLOURS)
"""So many lines are told apart in a panel."""

WIDTHS = (2.8, 2.3, 1.9, 1.6, 1.3, 1.1, 0.9)
"""Of the lines in the order of drawing: where several lie on each other, all are seen."""

IN_A_ROW = 3
"""So many panels stand side by side."""

PREFIXES = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


def named(results: Results) -> dict[str, Result]:
    """Give results by name; a single one has its title."""
    if isinstance(results, Mapping):
        if not results:
            raise ValueError("there are no results to draw; give one or more")
        return dict(results)
    return {results.meta["title"]: results}


def rate_unit(most_bps: float) -> tuple[float, str]:
    """Give the unit that suits rates up to so much, as bit/s in it and its name."""
    return next(((scale, unit) for scale, unit in PREFIXES if most_bps >= scale), PREFIXES[-1])


def chosen(known: Sequence[str], wanted: Sequence[str] | None, what: str) -> tuple[list[str], str]:
    """Give the names to draw, ``*`` for all, and a note if that is not all of them, or more than there are colours.

    Raises
    ------
    ScenarioError
        One that is not known.
    """
    if wanted is None:
        left = len(known) - MOST_LINES
        return list(known[:MOST_LINES]), f"the first {MOST_LINES} of {len(known)} {what}s" if left > 0 else ""
    if list(wanted) == ["*"]:
        wanted = known
    for name in wanted:
        if name not in known:
            raise ScenarioError(f"there is no {what} `{name}` in the result; name one of its {len(known)}")
    return list(wanted), f"{len(wanted)} {what}s; colours repeat" if len(wanted) > MOST_LINES else ""


def draw_panels(
    results: Mapping[str, Result],
    draw: Callable[[Axes, str], None],
    *,
    title: str,
    ylabel: str,
    note: str = "",
    from_zero: bool = True,
    top: float | None = None,
    window_s: tuple[float, float] | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a panel over time for each result: `draw` is told its name. One legend for all.

    Values are drawn from 0 on, up to `top` if that is given.
    """
    if file is not None:
        check_suffix(file)
    columns = min(len(results), IN_A_ROW)
    rows = -(-len(results) // columns)
    width, height = (8.6, 4.4) if columns == 1 else (4.4 * columns + 0.8, 3.4 * rows + 1.2)
    figure = Figure(figsize=(width, height), facecolor="white")
    with any_glyph():
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        axes = grid.ravel().tolist()
        for panel, name in zip(axes, results, strict=False):
            draw(panel, name)
            _dress(panel, name if len(results) > 1 else "")
        for panel in axes[len(results) :]:
            panel.set_axis_off()
        axes[0].set_xlim(window_s or (0.0, max(result.meta["reached_s"] for result in results.values()) or 1.0))
        if window_s is not None:
            axes[0].set_ylim(*_extent(axes, window_s))
        if from_zero:
            axes[0].set_ylim(bottom=0.0, top=top)
        axes[0].xaxis.set_major_locator(MaxNLocator(7 if columns == 1 else 5))
        for row in grid:
            row[0].set_ylabel(ylabel, color=INK)
        for panel in axes[max(len(results) - columns, 0) : len(results)]:
            panel.set_xlabel("simulated time (s)", color=INK)
            panel.tick_params(labelbottom=True)
        _frame(figure, axes[: len(results)], title, note)
    if file is not None:
        save(figure, file)
    return figure


def _extent(axes: Sequence[Axes], window_s: tuple[float, float]) -> tuple[float, float]:
    """Give the least and the greatest value that lines have in this part of the time, and some room around them."""
    seen = [np.zeros(1)]
    for line in (line for panel in axes for line in panel.get_lines()):
        time, value = (np.asarray(data, dtype=float) for data in line.get_data(orig=False))
        first, last = np.searchsorted(time, window_s, side="right")
        # A step that began before the window is seen in it.
        seen.append(value[max(first - 1, 0) : last])
    least, most = (float(reduce(np.concatenate(seen))) for reduce in (np.nanmin, np.nanmax))
    return least - 0.05 * (most - least), most + 0.05 * (most - least) or 1.0


def _dress(panel: Axes, name: str) -> None:
    panel.set_title(name, size=10, color=INK, loc="left", parse_math=False)
    panel.grid(visible=True, color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _frame(figure: Figure, axes: Sequence[Axes], title: str, note: str) -> None:
    """Write the title above, and below the legend and the note."""
    labels: dict[str, Artist] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    width, height = figure.get_size_inches()
    note = textwrap.fill(note, width=int(13 * width)) if note else ""
    columns = max(1, min(len(labels), int(width / 1.6)))
    legend_rows = -(-len(labels) // columns)
    note_in = 0.17 * (note.count("\n") + 1) + 0.08 if note else 0.0
    legend_in = 0.22 * legend_rows + 0.1 if labels else 0.0
    if labels:
        draw_legend(figure, labels, columns, left_in=0.6, bottom_in=note_in + 0.04)
    draw_words(figure, title, note)
    has_names = any(panel.get_title(loc="left") for panel in axes)
    top = 1.0 - (0.78 if has_names else 0.55) / height
    bottom = (0.55 + legend_in + note_in) / height
    figure.subplots_adjust(left=0.75 / width, right=1.0 - 0.2 / width, top=top, bottom=bottom, wspace=0.1, hspace=0.22)


def draw_legend(
    figure: Figure, labels: Mapping[str, Artist], columns: int, *, left_in: float, bottom_in: float
) -> None:
    """Draw a legend in rows, with its lower left corner there."""
    width, height = figure.get_size_inches()
    legend = figure.legend(
        list(labels.values()),
        list(labels),
        loc="lower left",
        bbox_to_anchor=(left_in / width, bottom_in / height),
        ncols=columns,
        fontsize=8.5,
        frameon=False,
        labelcolor=INK,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def draw_words(figure: Figure, title: str, note: str) -> None:
    """Write the title into the upper left corner and the note into the lower left one."""
    width, height = figure.get_size_inches()
    x, top = 0.12 / width, 1.0 - 0.24 / height
    figure.text(x, top, title, size=12, weight="bold", color=INK, va="center", parse_math=False)
    figure.text(x, 0.08 / height, note, size=8.5, color=SOFT_INK, va="bottom", parse_math=False)
