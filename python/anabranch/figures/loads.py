"""The loads of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

import polars as pl

from anabranch.figures.by_link import check_over, draw_bars, draw_lines
from anabranch.figures.panels import heading, named
from anabranch.figures.paper import PaperChoice, on_paper

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from anabranch.figures.panels import Results


@on_paper
def draw_loads(
    results: Results,
    *,
    over: Literal["links", "time"] = "links",
    links: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
    **paper: Unpack[PaperChoice],
) -> Figure:
    """Draw the utilisation of links: what they carried by what they could carry then.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with their names: bars beside each other, or panels side by side.
    over : {"links", "time"}
        Bars for the busiest links, means after the warm-up; or lines over time, since the sample before. Where a
        capacity changed between two samples, the line takes the greater one there.
    links : sequence of str, optional
        Which, instead of the 16 busiest, or the 7 over time; of more than 7 lines colours repeat.
    window_s : pair of float, optional
        With ``"time"``: draw this part of the time only.
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
        A link that is not in every result; links were not recorded; a file that cannot be written.
    ValueError
        Another ``over``; a part of the time that does not begin before it ends, or with bars.
    """
    check_over(over, window_s)
    all_results = named(results)
    mean = 100.0 * pl.col("utilisation")
    if over == "links":
        return draw_bars(
            all_results,
            mean,
            title=title or heading(all_results, "Load of each link"),
            xlabel="mean utilisation after the warm-up (%)",
            whole=False,
            links=links,
            file=file,
        )
    return draw_lines(
        all_results,
        mean,
        100.0 * pl.col("carried_bps") / pl.col("could_bps"),
        title=title or heading(all_results, "Loads over time"),
        ylabel="utilisation since the sample before (%)",
        links=links,
        window_s=window_s,
        mark=100.0,
        file=file,
    )
