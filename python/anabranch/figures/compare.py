"""Several results as lines in one frame: the longest queue over time, and how long transfers take by their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from anabranch.errors import ScenarioError
from anabranch.figures.panels import check_window, draw_legend, draw_words, heading, named, room_above, shortened
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.protocol_styles import looks_of
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import GRID, INK
from anabranch.runs.settling import by_amount

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from anabranch.figures.panels import Results
    from anabranch.figures.protocol_styles import Look
    from anabranch.runs.result import Result

    Style = tuple[Look, str]

MARK_EVERY = 0.12
"""So far apart are the markers of a line over time, by the diagonal of the frame."""


def draw_longest_queue(
    results: Results,
    *,
    window_s: tuple[float, float] | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the most packets that waited at a time at any link since the sample before, a line for each result.

    The axis is linear up to 10 packets and logarithmic beyond.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with their names.
    window_s : pair of float, optional
        Draw this part of the time only.
    title : str, optional
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ScenarioError
        Errors were not recorded; a file that cannot be written.
    """
    check_window(window_s)
    all_results = named(results)

    def draw(axes: Axes, result: Result, style: Style) -> None:
        look, label = style
        if not result.series.has("run", "peak_packets"):
            raise ScenarioError('queues were not recorded; add "errors" to record under [run]')
        rows = result.series["run"].drop_nulls("peak_packets")
        time, most = rows["time_s"].to_numpy(), rows["peak_packets"].to_numpy()
        axes.plot(time, most, linewidth=1.4, markersize=4.0, markevery=MARK_EVERY, label=label, **look.style)

    figure, axes = _lines(all_results, draw, title or heading(all_results, "Longest queue"), "")
    axes.set_yscale("symlog", linthresh=10.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(window_s or (0.0, max(result.meta["reached_s"] for result in all_results.values()) or 1.0))
    axes.set_xlabel("simulated time (s)", color=INK)
    axes.set_ylabel("most packets since the sample before", color=INK)
    return _saved(figure, file)


def draw_completions(
    results: Results, *, title: str | None = None, file: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw how long transfers take by their size: means over bins with about as many transfers each.

    A result without a completed transfer has no line.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with their names: a line for each.
    title : str, optional
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ScenarioError
        No transfer was completed; a file that cannot be written.
    """
    all_results = named(results)
    if not any(len(by_amount(result)) for result in all_results.values()):
        raise ScenarioError("no transfer was completed; give connections an amount, and a longer run")

    def draw(axes: Axes, result: Result, style: Style) -> None:
        look, label = style
        rows = by_amount(result)
        if not len(rows):
            return
        size, time = rows["amount_bytes"].to_numpy() / 1e3, rows["completion_s"].to_numpy()
        axes.plot(size, time, markersize=4.0, linewidth=1.2, label=label, **look.style)

    note = "means over bins with about as many transfers each"
    figure, axes = _lines(all_results, draw, title or heading(all_results, "Completion times"), note)
    axes.set_xscale("log")
    for ticks in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        ticks(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("size (kB)", color=INK)
    axes.set_ylabel("mean time to complete (s)", color=INK)
    return _saved(figure, file)


def _lines(
    results: dict[str, Result], draw: Callable[[Axes, Result, Style], None], title: str, note: str
) -> tuple[Figure, Axes]:
    """Make a frame with a line for each result, its title, legend and note."""
    width, height = size_on_paper(8.6, 4.8)
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    with any_glyph():
        looks = looks_of(results)
        for name, result in results.items():
            draw(axes, result, (looks[name], shortened(name)))
        axes.grid(visible=True, color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        note_in = draw_words(figure, title, note)
        legend = dict(zip(labels, handles, strict=True))
        legend_in = draw_legend(figure, legend, left_in=scaled(0.6), bottom_in=note_in + scaled(0.04))
    bottom, top = (scaled(0.6) + legend_in + note_in) / height, 1.0 - (room_above(title) + scaled(0.05)) / height
    figure.subplots_adjust(left=scaled(0.9) / width, right=1.0 - scaled(0.2) / width, top=top, bottom=bottom)
    return figure, axes


def _saved(figure: Figure, file: str | os.PathLike[str] | None) -> Figure:
    if file is not None:
        check_suffix(file)
        save(figure, file)
    return figure
