"""The longest queues at links."""

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


def draw_queues(
    results: Results,
    *,
    over: Literal["links", "time"] = "links",
    links: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the most packets that waited at a time, the packet in transmission included.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with their names: bars beside each other, or panels side by side.
    over : {"links", "time"}
        Bars for the links with the longest queues of the run; or lines over time, the longest since the sample before.
    links : sequence of str, optional
        With ``"time"``: which, instead of the 7 with the longest queues.
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
    most = pl.col("most_packets")
    if over == "links":
        heading, label = title or "Longest queue of each link", "most packets that waited at a time"
        return draw_bars(all_results, most, title=heading, xlabel=label, whole=True, file=file)
    return draw_lines(
        all_results,
        most,
        pl.col("peak_packets"),
        title=title or "Longest queues over time",
        ylabel="most packets since the sample before",
        links=links,
        window_s=window_s,
        file=file,
    )
