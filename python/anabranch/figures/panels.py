"""Panels over time, one for each result, side by side on the same axes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anabranch.errors import ScenarioError
from anabranch.figures.paper import is_titled, most_in_a_row, scaled, size_on_paper
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK, SOFT_INK

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from anabranch.runs.result import Result

    Results: TypeAlias = Result | Mapping[str, Result]

MOST_LINES = len(COLOURS)
"""The most lines that a reader can distinguish in a panel."""

WIDTHS = (2.8, 2.3, 1.9, 1.6, 1.3, 1.1, 0.9)
"""The widths of lines in the order of drawing: where several lie on each other, all are visible."""

IN_A_ROW, PANEL_IN = 3, 2.7
"""The most panels side by side, and how wide each is at least."""

LONGEST = 40
"""The most letters of a name in a legend."""

PREFIXES = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


def named(results: Results) -> dict[str, Result]:
    """Give results by name; a single one has its title."""
    if isinstance(results, Mapping):
        if not results:
            raise ValueError("there are no results to draw; give one or more")
        return dict(results)
    return {results.meta["title"]: results}


def heading(results: Mapping[str, Result], what: str) -> str:
    """Give the title of a figure: what it shows, and of which scenario; nothing on the paper of a publication."""
    if not is_titled():
        return ""
    title = next(iter(results.values())).meta["title"]
    return f"{what}: {title}" if title else what


def check_known(results: Mapping[str, Result], names: Sequence[str], of: Literal["connection", "link"]) -> None:
    """Make sure that every result has the connections or links of these names.

    Raises
    ------
    ScenarioError
        One has not.
    """
    for own, result in results.items():
        known = (result.connections if of == "connection" else result.links)[of].to_list()
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            which = f"`{own}`" if len(results) > 1 else "the result"
            raise ScenarioError(f"there is no {of} `{unknown}` in {which}; name one of its {len(known)}")


def check_window(window_s: tuple[float, float] | None) -> None:
    """Make sure that a part of the time begins before it ends.

    Raises
    ------
    ValueError
        It does not.
    """
    if window_s is not None and not window_s[0] < window_s[1] < math.inf:
        raise ValueError(f"window_s is {window_s[0]} to {window_s[1]}; it must begin before it ends")


def rate_unit(most_bps: float) -> tuple[float, str]:
    """Give the unit that suits rates up to a greatest one: its size in bit/s and its name."""
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
    check_window(window_s)
    columns = min(len(results), most_in_a_row(IN_A_ROW, PANEL_IN))
    rows = -(-len(results) // columns)
    wanted = (8.6, 4.4) if len(results) == 1 else (4.4 * columns + 0.8, 3.4 * rows + 1.2)
    figure = Figure(figsize=size_on_paper(*wanted), facecolor="white")
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
        axes[0].xaxis.set_major_locator(MaxNLocator(7 if columns == 1 else 5, steps=[1, 2, 5, 10]))
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
    panel.set_title(shortened(name), size=scaled(10), color=INK, loc="left", parse_math=False)
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
    note_in = draw_words(figure, title, note)
    left_in, right_in, below_in = scaled(0.75), scaled(0.2), scaled(0.55)
    legend_in = draw_legend(figure, labels, left_in=scaled(0.6), bottom_in=note_in + scaled(0.04)) if labels else 0.0
    has_names = any(panel.get_title(loc="left") for panel in axes)
    top = 1.0 - (room_above(title) + (scaled(0.23) if has_names else 0.0)) / height
    bottom = (below_in + legend_in + note_in) / height
    figure.subplots_adjust(
        left=left_in / width, right=1.0 - right_in / width, top=top, bottom=bottom, wspace=0.1, hspace=0.22
    )
    # How wide the ticks are depends on the height of the panels.
    ticks_in = max(size_in(label)[0] for panel in axes for label in panel.get_yticklabels())
    figure.subplots_adjust(left=max(left_in, ticks_in + scaled(0.5)) / width)


def room_above(title: str) -> float:
    """Give the height in inches of the title, or of the edge where there is none."""
    return scaled(0.55 if title else 0.15)


def draw_legend(figure: Figure, labels: Mapping[str, Artist], *, left_in: float, bottom_in: float) -> float:
    """Draw a legend that reads row by row, in as many columns as fit; give its height in inches."""
    width, height = figure.get_size_inches()
    names, handles = [shortened(name) for name in labels], list(labels.values())
    for columns in range(min(len(names), int(width / scaled(0.8))), 0, -1):
        # It is filled by columns.
        order = [entry for column in range(columns) for entry in range(column, len(names), columns)]
        legend = figure.legend(
            [handles[entry] for entry in order],
            [names[entry] for entry in order],
            loc="lower left",
            bbox_to_anchor=(left_in / width, bottom_in / height),
            borderaxespad=0.0,
            ncols=columns,
            fontsize=scaled(8.5),
            frameon=False,
            labelcolor=INK,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        legend_width, legend_height = size_in(legend)
        if columns == 1 or left_in + legend_width < width:
            break
        legend.remove()
    return legend_height + scaled(0.05)


def draw_words(figure: Figure, title: str, note: str) -> float:
    """Write the title into the upper left corner and the note into the lower left one; give the note's height."""
    width, height = figure.get_size_inches()
    edge = scaled(0.12)
    x, top = edge / width, 1.0 - scaled(0.24) / height
    text = figure.text(x, top, title, size=scaled(12), weight="bold", color=INK, va="center", parse_math=False)
    while len(title) > 1 and size_in(text)[0] > width - 2 * edge:
        title = title[:-1]
        text.set_text(f"{title.rstrip()}…")
    note = textwrap.fill(note, width=int(13 * width / scaled(1.0)))
    figure.text(x, scaled(0.08) / height, note, size=scaled(8.5), color=SOFT_INK, va="bottom", parse_math=False)
    return scaled(0.17 * (note.count("\n") + 1) + 0.08) if note else 0.0


def shortened(name: str) -> str:
    """Give the beginning and the end of a long name."""
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[1 - half :]}"


def size_in(artist: Artist) -> tuple[float, float]:
    """Give the width and height in inches of a text or a legend that is part of a figure."""
    figure = artist.get_figure(root=True)
    assert figure is not None, "what is measured is part of a figure"
    canvas = figure.canvas if isinstance(figure.canvas, FigureCanvasAgg) else FigureCanvasAgg(figure)
    extent = artist.get_window_extent(canvas.get_renderer())  # type: ignore[no-untyped-call]
    return extent.width / figure.dpi, extent.height / figure.dpi
