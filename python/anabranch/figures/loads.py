"""The loads of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from anabranch.figures.by_link import draw_bars, draw_lines
from anabranch.figures.panels import named

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from anabranch.figures.panels import Results


def draw_loads(
    results: Results,
    *,
    over: Literal["links", "time"] = "links",
    links: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the utilisation of links: what they carried by what they can carry.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with their names: bars beside each other, or panels side by side.
    over : {"links", "time"}
        Bars for the busiest links, means after the warm-up; or lines over time, since the sample before.
    links : sequence of str, optional
        With ``"time"``: which, instead of the 7 busiest.
    window_s : pair of float, optional
        With ``"time"``: draw this part of the time only.
    title : str, optional
    file : path, optional
        Saved there, as SVG or PNG by suffix.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ScenarioError
        An unknown link; links were not recorded; a file that cannot be written.
    """
    all_results = named(results)
    mean = 100.0 * pl.col("utilisation")
    if over == "links":
        heading, label = title or "Load of each link", "mean utilisation after the warm-up (%)"
        return draw_bars(all_results, mean, title=heading, xlabel=label, whole=False, file=file)
    return draw_lines(
        all_results,
        mean,
        100.0 * pl.col("carried_bps") / pl.col("capacity_bps"),
        title=title or "Loads over time",
        ylabel="utilisation since the sample before (%)",
        links=links,
        window_s=window_s,
        mark=100.0,
        file=file,
    )
