"""Rates over time, of connections or of subflows, beside the fair rates."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl

from anabranch.figures.line_colours import colours_of
from anabranch.figures.panels import WIDTHS, check_known, check_window, chosen, draw_panels, heading, named, rate_unit
from anabranch.figures.paper import PaperChoice, on_paper, scaled
from anabranch.figures.style import COLOURS

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from anabranch.figures.panels import Results
    from anabranch.runs.result import Result


@on_paper
def draw_rates(
    results: Results,
    *,
    connections: Sequence[str] | None = None,
    subflows: bool = False,
    window_s: tuple[float, float] | None = None,
    most_bps: float | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
    **paper: Unpack[PaperChoice],
) -> Figure:
    """Draw granted rates over time, a panel for each result on the same axes; the fair rates are dashed.

    With grants recorded each rate is drawn until the next one is granted, else from sample to sample.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with the names of their panels; all have the connections that are drawn.
    connections : sequence of str, optional
        The connections to draw; ``["*"]`` for all, the first 7 if not given. More than 7 are thin lines without names
        and fair rates.
    subflows : bool
        Draw the subflows of these connections instead; they have no fair rates.
    window_s : pair of float, optional
        Draw this part of the time only.
    most_bps : float, optional
        The end of the axis of rates, in bit/s; greater rates are cut off.
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
        A connection that is not in every result, rates that were not recorded, a file that cannot be written.
    ValueError
        A part of the time that does not begin before it ends.
    """
    all_results = named(results)
    first = next(iter(all_results.values()))
    check_window(window_s)
    names, note = chosen(first.connections["connection"].to_list(), connections, "connection")
    check_known(all_results, names, "connection")
    if subflows:
        parts = first.subflows.filter(pl.col("connection").is_in(names))["subflow"].to_list()
        names, more = chosen(parts, ["*"] if is_crowd(names) else None, "subflow")
        note = "; ".join(part for part in (note, more) if part)
    has_fair = not (subflows or is_crowd(names)) and any(_has_fair(r) for r in all_results.values())
    dashed = "dashed: fair rate" if has_fair else ""
    colours = colours_of(first, names)
    rates = {name: result.rates(subflows=subflows) for name, result in all_results.items()}
    scale, unit = rate_unit(most_bps or max(_most(frame, window_s) for frame in rates.values()))

    def draw(panel: Axes, own: str) -> None:
        result = all_results[own]
        style = "steps-post" if result.grants is not None else "default"
        for name, width in zip(names, cycle(WIDTHS), strict=False):
            colour = colours[name]
            time, rate = _line(result, rates[own], name, subflows=subflows)
            look: dict[str, Any] = (
                {"linewidth": scaled(0.7)} if is_crowd(names) else {"linewidth": scaled(width), "label": name}
            )
            panel.plot(time, rate / scale, color=colour, drawstyle=style, **look)
            if has_fair:
                _draw_fair(panel, result, name, color=colour, scale=scale, drawstyle=style)

    return draw_panels(
        all_results,
        draw,
        title=title or heading(all_results, "Rates of subflows" if subflows else "Rates"),
        ylabel=f"rate of the {'subflow' if subflows else 'connection'} ({unit})",
        note="; ".join(part for part in (dashed, note) if part),
        window_s=window_s,
        top=None if most_bps is None else most_bps / scale,
        file=file,
    )


def is_crowd(names: Sequence[str]) -> bool:
    """Tell whether there are more lines than colours."""
    return len(names) > len(COLOURS)


def _most(frame: pl.DataFrame, window_s: tuple[float, float] | None) -> float:
    inside = frame if window_s is None else frame.filter(pl.col("time_s").is_between(*window_s))
    most = inside["granted_bps"].max()
    return float(most) if isinstance(most, float) else 0.0


def _has_fair(result: Result) -> bool:
    return result.series.has("connections", "fair_bps")


def _line(
    result: Result, frame: pl.DataFrame, name: str, *, subflows: bool
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Give the times and rates of one line, from when it is there until it is there no more."""
    connection = name.rpartition("/")[0] if subflows else name
    row = result.connections.row(by_predicate=pl.col("connection") == connection, named=True)
    start, end = row["start_s"], row["stopped_s"] if row["stopped_s"] is not None else result.meta["reached_s"]
    own = frame.filter((pl.col("name") == name) & pl.col("time_s").is_between(start, end))
    time, rate = own["time_s"].to_numpy(), own["granted_bps"].to_numpy()
    if result.grants is not None and len(time):
        time, rate = np.append(time, end), np.append(rate, rate[-1])
    return time, rate


def _draw_fair(panel: Axes, result: Result, name: str, *, scale: float, **look: Any) -> None:
    if not result.series.has("connections", "fair_bps"):
        return
    fair = result.series["connections"].filter(pl.col("connection") == name).select("time_s", "fair_bps")
    if fair["fair_bps"].count():
        rate = fair["fair_bps"].fill_null(float("nan")).to_numpy() / scale
        panel.plot(fair["time_s"], rate, linewidth=scaled(0.9), linestyle=(0, (5, 4)), zorder=1, **look)
