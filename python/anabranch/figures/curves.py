"""Rates of subflows over time, a panel for each connection: a colour for each run, a line for each subflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.figures.panels import draw_panels, rate_unit
from anabranch.figures.style import COLOURS, INK

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from anabranch.runs.result import Result

LINES = ("-", (0, (4, 2)), (0, (1, 1.5)), "-.")
"""The lines of subflows, by their ranks."""

MARKERS = ("o", "s", "^", "D")
"""The markers of subflows, by their ranks."""


def draw_curves(
    means: pl.DataFrame,
    results: Mapping[str, Result],
    *,
    window_s: tuple[float, float],
    title: str,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the rates of the subflows of each connection, with a band from the least to the greatest over seeds.

    Parameters
    ----------
    means : DataFrame
        ``connection``, ``run``, ``subflow``, ``time_s``, ``mean_bps``, ``least_bps``, ``most_bps``. The run `optimum`
        is drawn in black.
    results : mapping of str to Result
        A result for each connection, whose name stands above the panel.
    window_s : pair of float
        The part of the time that is drawn.
    title : str
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    runs = means["run"].unique(maintain_order=True).to_list()
    greatest = means["most_bps"].max()
    scale, unit = rate_unit(float(greatest) if isinstance(greatest, float) else 0.0)

    def draw(panel: Axes, connection: str) -> None:
        here = means.filter(pl.col("connection") == connection)
        for (run, subflow), own in here.group_by("run", "subflow", maintain_order=True):
            rank = int(subflow) - 1
            colour = INK if run == "optimum" else COLOURS[runs.index(run) % len(COLOURS)]
            time = own["time_s"].to_numpy()
            mean, least, most = (own[column].to_numpy() / scale for column in ("mean_bps", "least_bps", "most_bps"))
            panel.fill_between(time, least, most, color=colour, alpha=0.15, linewidth=0.0)
            panel.plot(
                time,
                mean,
                color=colour,
                linestyle=LINES[rank % len(LINES)],
                marker=MARKERS[rank % len(MARKERS)],
                markersize=3.0,
                linewidth=1.2,
                label=f"subflow {subflow}, {run}",
            )

    return draw_panels(
        results,
        draw,
        title=title,
        ylabel=f"rate of the subflow ({unit})",
        note="line: mean over the seeds; band: least to greatest of them",
        window_s=window_s,
        file=file,
    )
