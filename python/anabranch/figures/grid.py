"""Panels side by side on the same axes, of what varies along any axis: linear, logarithmic, or of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullFormatter, NullLocator

from anabranch.errors import ScenarioError
from anabranch.figures.panels import IN_A_ROW, PANEL_IN, draw_legend, draw_words, room_above, shortened, size_in
from anabranch.figures.paper import most_in_a_row, scaled, size_on_paper
from anabranch.figures.protocol_styles import looks_of
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import GRID, INK
from anabranch.number_labels import told_apart

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Sequence
    from typing import Literal

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_PANELS = 30

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
"""Dash patterns of lines, for lines that repeat the colour of an earlier one."""

SIZE = 4.5
SIZES = {"cross": 6.0, "star": 8.0}
"""Sizes of markers; markers without an area need a greater one, or their lines would hide them."""

SHORT = {4.0: "123456789", 8.0: "12357", 100.0: "125"}
"""The ratio of the ends of a logarithmic axis with few powers of ten, and the leading digits of its numbers."""

NARROW = 1.5
"""A logarithmic axis goes to this many times its beginning at least."""

LETTER_IN = 0.09
"""How wide a digit at an axis is."""

TICKS_IN = 0.2
"""How high names below a panel are, if they are not upright."""


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give what matplotlib needs to draw a line of each name: protocols look as everywhere.

    One that has the colour of another before it is dashed.
    """
    looks = looks_of(names)
    colours = [looks[name].colour for name in names]
    dashes = (DASHES[colours[:place].count(colour) % len(DASHES)] for place, colour in enumerate(colours))
    return {
        name: looks[name].style | {"linestyle": dash, "markersize": scaled(SIZES.get(looks[name].marker, SIZE))}
        for name, dash in zip(names, dashes, strict=True)
    }


def draw_grid(
    panels: Sequence[str],
    draw: Callable[[Axes, str], None],
    *,
    xlabel: str,
    ylabel: str,
    log: Collection[Literal["x", "y"]] = (),
    title: str,
    note: str = "",
    bottom: float | None = None,
    xticks: Sequence[float] = (),
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a panel of each name: `draw` is told its axes and the name. One legend for all.

    Axes in `log` are logarithmic, and numbers stand at `xticks` along that one, if there are any. That upwards begins
    at `bottom`, if that is given. A panel that is alone has no name above it.

    Raises
    ------
    ScenarioError
        There is nothing to draw, or too many panels; an axis is logarithmic along which nothing is over 0.
    """
    if file is not None:
        check_suffix(file)
    if not 0 < len(panels) <= MOST_PANELS:
        raise ScenarioError(f"there are {len(panels)} panels to draw; there must be some, {MOST_PANELS} at most")
    columns = min(len(panels), most_in_a_row(IN_A_ROW, PANEL_IN))
    rows = -(-len(panels) // columns)
    wanted = (7.4, 4.6) if len(panels) == 1 else (4.0 * columns + 0.8, 3.3 * rows + 1.3)
    figure = Figure(figsize=size_on_paper(*wanted), facecolor="white")
    with any_glyph():
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        axes = grid.ravel().tolist()
        for panel, name in zip(axes, panels, strict=False):
            draw(panel, name)
            _dress(panel, name if len(panels) > 1 else "")
        for panel in axes[len(panels) :]:
            panel.set_axis_off()
        if bottom is not None:
            axes[0].set_ylim(bottom=bottom)
        for axis in log:
            _make_logarithmic(axes[: len(panels)], axis, xticks if axis == "x" else ())
        for row in grid:
            row[0].set_ylabel(ylabel, color=INK)
        for panel in axes[max(len(panels) - columns, 0) : len(panels)]:
            panel.set_xlabel(xlabel, color=INK)
            panel.tick_params(labelbottom=True)
        _frame(figure, axes[: len(panels)], title, note)
    if file is not None:
        save(figure, file)
    return figure


def _dress(panel: Axes, name: str) -> None:
    panel.set_title(shortened(name), size=scaled(10), color=INK, loc="left", parse_math=False)
    panel.grid(visible=True, color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _make_logarithmic(panels: Sequence[Axes], name: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """Write plain numbers: those of `ticks`, or else powers of ten, and smaller ticks where there are hardly any."""
    axis, column = (panels[0].xaxis, 0) if name == "x" else (panels[0].yaxis, 1)
    drawn = np.concatenate([panel.dataLim.get_points()[:, column] for panel in panels])
    least, most = np.min(drawn, where=drawn > 0.0, initial=np.inf), np.max(drawn)
    if least == np.inf:
        raise ScenarioError(f"nothing is over 0 along {name}, so it cannot be logarithmic; leave `{name}` out of `log`")
    if most < NARROW * least:
        getattr(panels[0], f"set_{name}lim")(least / NARROW, most * NARROW)
    getattr(panels[0], f"set_{name}scale")("log")
    least, most = axis.get_view_interval()
    first = next((digits for times, digits in SHORT.items() if most / least < times), "")
    if len(ticks) > 0:
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FixedFormatter(_spaced(ticks, np.log(most / least) / _width_in(panels[0]))))
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    few = FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in first else "")
    axis.set_minor_formatter(few if first else NullFormatter())
    if first:
        # Their ticks are shorter, and their numbers stand in one row with the others.
        axis.set_tick_params(which="minor", pad=scaled(5.0))
        for panel in panels:
            panel.grid(visible=True, which="minor", axis=name, color=GRID, linewidth=0.4)


def _width_in(panel: Axes) -> float:
    figure = panel.get_figure(root=True)
    assert figure is not None, "a panel is part of a figure"
    return float(panel.get_position().width * figure.get_size_inches()[0])


def _spaced(ticks: Sequence[float], per_in: float) -> list[str]:
    """Write the numbers at ticks of a logarithmic axis, ascending, but for those that would run into one before them.

    An inch of the axis is `per_in` of the natural logarithm.
    """
    words, taken_in = [], -np.inf
    for tick, word in zip(ticks, told_apart(ticks), strict=True):
        middle_in, half_in = np.log(tick) / per_in, 0.5 * scaled(LETTER_IN) * len(word)
        has_room = middle_in - half_in > taken_in
        words.append(word if has_room else "")
        taken_in = middle_in + half_in + scaled(LETTER_IN) if has_room else taken_in
    return words


def _frame(figure: Figure, axes: Sequence[Axes], title: str, note: str) -> None:
    """Write the title above, and below the legend and the note."""
    labels: dict[str, Artist] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    below_in = max(size_in(label)[1] for panel in axes for label in panel.get_xticklabels(which="both"))
    width, height = figure.get_size_inches()
    height += max(below_in - scaled(TICKS_IN), 0.0)
    figure.set_size_inches(width, height)
    note_in = draw_words(figure, title, note)
    left_in, right_in, legend_at = scaled(0.75), scaled(0.2), note_in + scaled(0.04)
    legend_in = draw_legend(figure, labels, left_in=scaled(0.6), bottom_in=legend_at) if len(labels) > 1 else 0.0
    top = 1.0 - (room_above(title) + (scaled(0.23) if len(axes) > 1 else 0.0)) / height
    bottom = (scaled(0.45) + below_in + legend_in + note_in) / height
    figure.subplots_adjust(
        left=left_in / width, right=1.0 - right_in / width, top=top, bottom=bottom, wspace=0.1, hspace=0.22
    )
    # How wide the ticks are depends on the height of the panels.
    ticks_in = max(size_in(label)[0] for panel in axes for label in panel.get_yticklabels(which="both"))
    figure.subplots_adjust(left=max(left_in, ticks_in + scaled(0.5)) / width)
