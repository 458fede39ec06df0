"""Rates and prices of fluid models over steps or time, a column for each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anabranch.figures.panels import WIDTHS, draw_legend, draw_words, room_above
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    Columns = list[tuple[str, tuple[float, float] | None]]


def draw_fluid(
    series: pl.DataFrame,
    *,
    title: str,
    xlabel: str = "step",
    price: str = "marking probability",
    top: float | None = None,
    windows: Sequence[tuple[float, float]] = (),
    note: str = "",
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a column of panels for each model: rates or windows above, and prices below where there are some.

    A number has one colour in all panels: ``x1``, ``w1`` and ``p1``, if there are as many prices as rates. Fewer prices
    have colours of their own.

    Parameters
    ----------
    series : DataFrame
        A row for each value: ``run``, ``at``, ``name``, ``value``. Names begin with x for rates, w for windows, p for
        prices.
    xlabel, price : str
        What ``at`` and prices are.
    top : float, optional
        Where the axis of the rates ends.
    windows : sequence of pairs of float
        Parts of the axis to be shown side by side, the rest left out; all of it if not given.
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
    parts: Sequence[tuple[float, float] | None] = windows or [None]
    columns: Columns = [(str(run), part) for run in series["run"].unique(maintain_order=True) for part in parts]
    has_prices = bool(series["name"].str.starts_with("p").any())
    wanted = 4.4 * max(len(columns) // len(parts), 2) + 0.8, 6.2 if has_prices else 3.9
    width, height = size_on_paper(*wanted)
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    with any_glyph():
        grid = figure.subplots(2 if has_prices else 1, len(columns), sharex="col", sharey="row", squeeze=False)
        labels = _draw_columns(grid.T.tolist(), series, columns, xlabel)
        grid[0, 0].set_ylabel(_unit(series), color=INK)
        if has_prices:
            grid[1, 0].set_ylabel(price, color=INK)
        # Only when all is drawn: panels of a row have one axis.
        for axes in grid.ravel().tolist():
            axes.set_ylim(bottom=0.0)
            if not axes.get_lines():
                axes.set_axis_off()
        grid[0, 0].set_ylim(top=top)
        note_in = draw_words(figure, title, note)
        legend_in = draw_legend(figure, labels, left_in=scaled(0.6), bottom_in=note_in + scaled(0.04))
    left, right = scaled(0.8) / width, 1.0 - scaled(0.2) / width
    bottom, top = (scaled(0.55) + legend_in + note_in) / height, 1.0 - (room_above(title) + scaled(0.2)) / height
    figure.subplots_adjust(left=left, right=right, top=top, bottom=bottom, wspace=0.1, hspace=0.1)
    if file is not None:
        save(figure, file)
    return figure


def _unit(series: pl.DataFrame) -> str:
    has_windows = series["name"].str.starts_with("w").any()
    return "rate" if not has_windows else "rate, window (packets)"


def _draw_columns(panels: list[list[Axes]], series: pl.DataFrame, columns: Columns, xlabel: str) -> dict[str, Artist]:
    """Draw rates and prices of each model in each window; give what the legend is made of."""
    colours = _colours(series)
    lines: dict[str, Artist] = {}
    titled = ""
    for own, (run, window) in zip(panels, columns, strict=True):
        values = series.filter(pl.col("run") == run)
        if window is not None:
            values = values.filter(pl.col("at").is_between(*window))
        for axes, is_price in zip(own, (False, True), strict=False):
            some = values.filter(pl.col("name").str.starts_with("p") == is_price)
            lines |= _draw(axes, some, colours, window)
        if run != titled:
            own[0].set_title(run, size=10, color=INK, loc="left", parse_math=False)
            titled = run
        lowest = own[-1] if own[-1].get_lines() else own[0]
        lowest.set_xlabel(xlabel, color=INK)
        lowest.tick_params(labelbottom=True)
    return _legend(lines, colours)


def _colours(series: pl.DataFrame) -> dict[str, str]:
    """Give each series a colour: one for each number, and others for prices that are fewer than rates."""
    names = series["name"].unique(maintain_order=True).to_list()
    of_rates = max((int(name[1:]) for name in names if name[0] != "p"), default=0)
    of_prices = max((int(name[1:]) for name in names if name[0] == "p"), default=0)
    first = 0 if of_prices == of_rates else of_rates
    place = {name: int(name[1:]) - 1 + (first if name[0] == "p" else 0) for name in names}
    return {name: COLOURS[own % len(COLOURS)] for name, own in place.items()}


def _legend(lines: Mapping[str, Artist], colours: Mapping[str, str]) -> dict[str, Artist]:
    """Give an entry for each colour, with the names of all that have it."""
    found: dict[str, Artist] = {}
    for colour in dict.fromkeys(colours.values()):
        names = [name for name in lines if colours[name] == colour]
        if names:
            found[", ".join(names)] = lines[names[0]]
    return found


def _draw(
    axes: Axes, own: pl.DataFrame, colours: Mapping[str, str], window: tuple[float, float] | None
) -> dict[str, Artist]:
    """Draw each series, the first one widest: several may lie on each other."""
    lines: dict[str, Artist] = {}
    for number, (name, values) in enumerate(own.group_by("name", maintain_order=True)):
        (lines[str(name[0])],) = axes.plot(
            values["at"], values["value"], color=colours[str(name[0])], linewidth=WIDTHS[number % len(WIDTHS)]
        )
    axes.set_xlim(*window or (0.0, None))
    if window is not None:
        axes.xaxis.set_major_locator(MaxNLocator(3, integer=True, prune="upper"))
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return lines
