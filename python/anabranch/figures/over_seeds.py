"""Rates over time of runs with several seeds: means and extremes over the seeds, beside the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.figures.panels import draw_panels, rate_unit
from anabranch.figures.style import COLOURS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from anabranch.runs.result import Result

FEW = 40
"""The most points of a line with markers."""


def draw_repeated(
    results: Mapping[str, Result],
    means: pl.DataFrame,
    optimum: pl.DataFrame | None,
    *,
    of: str,
    title: str,
    most_bps: float | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw mean rates over time with a band from the least to the greatest over seeds, a panel for each run.

    Parameters
    ----------
    results : mapping of str to Result
        A result of each run, with the name of its panel.
    means : DataFrame
        ``run``, ``name``, ``time_s``, ``mean_bps``, ``least_bps``, ``most_bps``: a row for each thing and time.
    optimum : DataFrame or None
        ``name``, ``time_s``, ``end_s``, ``optimal_bps``: a row for each thing and step, dashed. Or None.
    of : str
        What the rates are of, in a word: subflow or connection.
    title : str
    most_bps : float, optional
        Where the axis of rates ends.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = means["name"].unique(maintain_order=True).to_list()
    greatest = means["most_bps"].max()
    scale, unit = rate_unit(most_bps or (float(greatest) if isinstance(greatest, float) else 0.0))

    values = ("mean_bps", "least_bps", "most_bps")

    def draw(panel: Axes, run: str) -> None:
        _draw_means(panel, means, run, values, scale)
        for number, name in enumerate(names):
            colour = COLOURS[number % len(COLOURS)]
            steps = [] if optimum is None else optimum.filter(pl.col("name") == name).select(STEP).rows()
            for start, end, rate in steps:
                panel.plot(
                    [start, end], [rate / scale] * 2, color=colour, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1
                )

    return draw_panels(
        results,
        draw,
        title=title,
        ylabel=f"rate of the {of} ({unit})",
        note=f"{SEEDS}; dashed: the optimum" if optimum is not None else SEEDS,
        top=None if most_bps is None else most_bps / scale,
        file=file,
    )


def draw_marks(
    results: Mapping[str, Result], means: pl.DataFrame, *, title: str, file: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw mean shares of marked packets over time, from 0 to 1, as `draw_repeated` does rates.

    Parameters
    ----------
    means : DataFrame
        ``run``, ``name``, ``time_s``, ``mean``, ``least``, ``most``: a row for each subflow and time.
    """

    def draw(panel: Axes, run: str) -> None:
        _draw_means(panel, means, run, ("mean", "least", "most"), 1.0)

    return draw_panels(results, draw, title=title, ylabel="smoothed share of marks", note=SEEDS, top=1.0, file=file)


def _draw_means(panel: Axes, means: pl.DataFrame, run: str, values: tuple[str, str, str], scale: float) -> None:
    """Draw a line and a band for each name; `values` are the columns of the mean, the least and the most."""
    look: dict[str, Any] = {"linewidth": 1.3}
    if max(len(own) for _, own in means.group_by("run", "name")) <= FEW:
        look |= {"marker": "o", "markersize": 3.0}
    for number, name in enumerate(means["name"].unique(maintain_order=True).to_list()):
        own = means.filter(pl.col("run") == run, pl.col("name") == name)
        time = own["time_s"].to_numpy()
        mean, least, most = (own[column].to_numpy() / scale for column in values)
        colour = COLOURS[number % len(COLOURS)]
        panel.fill_between(time, least, most, color=colour, alpha=0.22, linewidth=0.0)
        panel.plot(time, mean, color=colour, label=name, **look)


SEEDS = "line: mean over the seeds; band: least to greatest of them"

STEP = ("time_s", "end_s", "optimal_bps")
"""The columns of the optimum: start and end of an interval, and the rate in it."""
