"""The distance of granted rates from fair over time: mean and percentiles over the connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import polars as pl
from matplotlib.ticker import FixedLocator, FuncFormatter

from anabranch.figures.panels import draw_panels, heading, named
from anabranch.figures.paper import PaperChoice, on_paper, scaled
from anabranch.figures.style import COLOURS, GREY, INK
from anabranch.runs.protocols import window_protocols

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from anabranch.figures.panels import Results
    from anabranch.runs.result import Result

LINEAR = 1.0
"""The percentage within which the axis is linear; it is logarithmic beyond."""

OVER = {"connection": "over the connections that are granted a rate", "link": "over the bottlenecks of the fair rates"}
"""The words for what is summed up."""

TICKS = (-100.0, -10.0, -1.0, 0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0)


@on_paper
def draw_errors(
    results: Results,
    *,
    of: str = "connection",
    window_s: tuple[float, float] | None = None,
    extremes: bool = True,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
    **paper: Unpack[PaperChoice],
) -> Figure:
    """Draw how far granted rates are from fair, relative to the fair rate, over time.

    The mean over the connections that are granted a rate, or over the links that are bottlenecks, the band from the
    10th to the 90th percentile, and the extremes; a panel for each result on the same axes, linear within 1 % and
    logarithmic beyond. Without the extremes the axis is linear, and fits the means and the bands.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with the names of their panels.
    of : {"connection", "link"}
        Whose errors, see `Result.errors`.
    window_s : pair of float, optional
        Draw this part of the time only.
    extremes : bool
        Draw the greatest and the least error, too.
    title : str, optional
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.
    **paper
        ``width``, ``font`` and ``font_size``, as in `PaperChoice`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ScenarioError
        Connections (or links) or fairness were not recorded; a file that cannot be written.
    """
    all_results = named(results)
    axis = "; the axis is linear within 1 % and logarithmic beyond" if extremes else ""

    def draw(panel: Axes, name: str) -> None:
        frame = all_results[name].errors(of=of)
        if window_s is not None:
            frame = frame.filter(pl.col("time_s").is_between(*window_s))
        _draw(panel, frame, extremes=extremes)

    return draw_panels(
        all_results,
        draw,
        title=title or heading(all_results, "Errors of granted rates"),
        ylabel="(granted - fair) / fair (%)" if of == "connection" else "(granted - capacity) / capacity (%)",
        note=f"{OVER.get(of, of)}{axis}",
        from_zero=False,
        window_s=window_s,
        file=file,
    )


def has_errors(result: Result) -> bool:
    """Tell whether there are granted rates to compare with fair ones; those of windows are estimates."""
    if not result.series.has("connections", "fair_bps"):
        return False
    return not set(result.connections["protocol"]) <= window_protocols()


def _draw(panel: Axes, frame: pl.DataFrame, *, extremes: bool) -> None:
    time = frame["time_s"].to_numpy()
    least, low, mean, high, most = (
        100.0 * frame[c].fill_null(float("nan")).to_numpy() for c in ("least", "p10", "mean", "p90", "most")
    )
    panel.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    panel.fill_between(time, low, high, color=COLOURS[0], alpha=0.28, linewidth=0.0, label="10 % to 90 %")
    if extremes:
        panel.plot(time, most, color=COLOURS[1], linewidth=0.6, alpha=0.7, label="greatest and least")
        panel.plot(time, least, color=COLOURS[1], linewidth=0.6, alpha=0.7)
        _make_logarithmic(panel)
    panel.plot(time, mean, color=COLOURS[0], linewidth=scaled(1.5), label="mean")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    panel.tick_params(axis="y", labelcolor=INK)


def _make_logarithmic(panel: Axes) -> None:
    for edge in (-LINEAR, LINEAR):
        panel.axhline(edge, color=GREY, linewidth=0.4, zorder=1)
    panel.set_yscale("symlog", linthresh=LINEAR, linscale=1.0)
    panel.yaxis.set_major_locator(FixedLocator(TICKS))
    panel.yaxis.set_minor_locator(FixedLocator([]))
