"""Congestion windows and round-trip times of subflows over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.figures.line_colours import colours_of
from anabranch.figures.panels import MOST_LINES, check_known, chosen, draw_panels, heading, named
from anabranch.figures.paper import PaperChoice, on_paper, scaled

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from anabranch.figures.panels import Results
    from anabranch.runs.result import Result

SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


@on_paper
def draw_windows(
    results: Results,
    *,
    connections: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
    **paper: Unpack[PaperChoice],
) -> Figure:
    """Draw congestion windows over time: a line for each subflow, a panel for each result on the same axes.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with the names of their panels; all have the connections that are drawn.
    connections : sequence of str, optional
        The connections whose subflows are drawn; ``["*"]`` for all. The first 7 subflows if not given.
    window_s : pair of float, optional
        Draw this part of the time only.
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
        A connection that is not in every result, windows that were not recorded, a file that cannot be written.
    ValueError
        A part of the time that does not begin before it ends.
    """
    all_results = named(results)
    most = max(_greatest(result, "window_bytes", window_s) for result in all_results.values())
    scale, unit = next(((scale, unit) for scale, unit in SIZES if most >= scale), SIZES[-1])
    return _draw(
        all_results,
        "window_bytes",
        scale,
        connections=connections,
        title=title or heading(all_results, "Congestion windows"),
        ylabel=f"congestion window ({unit})",
        window_s=window_s,
        file=file,
    )


@on_paper
def draw_round_trips(
    results: Results,
    *,
    connections: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    title: str | None = None,
    file: str | os.PathLike[str] | None = None,
    **paper: Unpack[PaperChoice],
) -> Figure:
    """Draw smoothed round-trip times over time: a line for each subflow, a panel for each result on the same axes.

    Parameters
    ----------
    results : Result or mapping of str to Result
        Several results with the names of their panels; all have the connections that are drawn.
    connections : sequence of str, optional
        The connections whose subflows are drawn; ``["*"]`` for all. The first 7 subflows if not given.
    window_s : pair of float, optional
        Draw this part of the time only.
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
        A connection that is not in every result, windows that were not recorded, a file that cannot be written.
    ValueError
        A part of the time that does not begin before it ends.
    """
    all_results = named(results)
    return _draw(
        all_results,
        "rtt_s",
        1e-3,
        connections=connections,
        title=title or heading(all_results, "Round-trip times"),
        ylabel="round-trip time (ms)",
        window_s=window_s,
        file=file,
    )


def _draw(
    results: Mapping[str, Result],
    column: str,
    scale: float,
    *,
    connections: Sequence[str] | None,
    title: str,
    ylabel: str,
    window_s: tuple[float, float] | None,
    file: str | os.PathLike[str] | None,
) -> Figure:
    first = next(iter(results.values()))
    names, note = _subflows(first, connections)
    check_known(results, [name for name in connections or () if name != "*"], "connection")
    alone = set(first.subflows.group_by("connection").len().filter(pl.col("len") == 1)["connection"])
    colours = colours_of(first, names)

    def draw(panel: Axes, own: str) -> None:
        rows = _recorded(results[own], column).filter(pl.col("subflow").is_in(names))
        for name in names:
            line = rows.filter(pl.col("subflow") == name)
            connection = name.rpartition("/")[0]
            label = None if len(names) > MOST_LINES else connection if connection in alone else name
            width = scaled(0.7 if len(names) > MOST_LINES else 1.3)
            value = line[column].cast(pl.Float64).fill_null(float("nan")).to_numpy() / scale
            panel.plot(line["time_s"], value, color=colours[name], linewidth=width, label=label)

    return draw_panels(results, draw, title=title, ylabel=ylabel, note=note, window_s=window_s, file=file)


def _subflows(result: Result, connections: Sequence[str] | None) -> tuple[list[str], str]:
    """Give the names of the subflows to draw, and a note if these are not all, or more than there are colours."""
    known = result.subflows["subflow"].to_list()
    if connections is None or list(connections) == ["*"]:
        return chosen(known, connections, "subflow")
    owned = chosen(result.connections["connection"].to_list(), connections, "connection")[0]
    own = result.subflows.filter(pl.col("connection").is_in(owned))["subflow"].to_list()
    return chosen(known, own, "subflow")


def _recorded(result: Result, column: str) -> pl.DataFrame:
    if not result.series.has("subflows", column):
        remedy = 'add "windows" to record under [run], and a protocol that keeps windows'
        raise ScenarioError(f"no congestion windows were recorded; {remedy}")
    return result.series["subflows"].select("time_s", "subflow", column)


def _greatest(result: Result, column: str, window_s: tuple[float, float] | None) -> float:
    rows = _recorded(result, column)
    inside = rows if window_s is None else rows.filter(pl.col("time_s").is_between(*window_s))
    most = inside[column].max()
    return float(most) if isinstance(most, int | float) else 0.0
