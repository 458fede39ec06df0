"""Empirical cumulative distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.figures.grid import draw_grid, line_styles
from anabranch.figures.paper import scaled

if TYPE_CHECKING:
    import os
    from collections.abc import Collection
    from typing import Literal

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS_APART = 0.2
"""The distance of markers along a curve, relative to the diagonal of a panel."""


def draw_distributions(
    curves: pl.DataFrame,
    *,
    xlabel: str,
    ylabel: str = "share that is no greater",
    log: Collection[Literal["x", "y"]] = (),
    title: str,
    note: str = "",
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the cumulative distribution of each name as a step curve.

    Parameters
    ----------
    curves : DataFrame
        A row for each step: ``panel``, ``name``, ``value``, and ``share``, over 0 and up to 1.
    xlabel, ylabel : str
    log : collection of {"x", "y"}
        Axes that are logarithmic; along that of values a curve begins with the first over 0.
    title, note : str
        Above and below.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = curves["name"].unique(maintain_order=True).to_list()
    styles = line_styles(names)
    if "x" in log and (curves["value"] <= 0.0).any():
        note = f"{note}; values up to 0 count, and are not drawn" if note else "values up to 0 count, and are not drawn"

    def draw(panel: Axes, own: str) -> None:
        for place, name in enumerate(names):
            curve = curves.filter(panel=own, name=name).sort("value")
            offset = MARKERS_APART * (place + 0.5) / len(names)
            _draw_curve(panel, curve, name, styles[name] | {"markevery": (offset, MARKERS_APART)}, log)
        if "y" not in log:
            panel.set_ylim(0.0, 1.02)

    panels = curves["panel"].unique(maintain_order=True).to_list()
    return draw_grid(panels, draw, xlabel=xlabel, ylabel=ylabel, log=log, title=title, note=note, file=file)


def _draw_curve(
    panel: Axes, curve: pl.DataFrame, name: str, style: dict[str, Any], log: Collection[Literal["x", "y"]]
) -> None:
    value, share = (curve[column].to_numpy() for column in ("value", "share"))
    # Before its first step a curve is at 0.
    value, share = np.append(value[:1], value), np.append(0.0, share)[: len(value) + 1]
    is_there = (value > 0.0) if "x" in log else np.ones(len(value), dtype=bool)
    if "y" in log:
        is_there &= share > 0.0
    panel.plot(
        value[is_there],
        share[is_there],
        label=name,
        linewidth=scaled(1.5),
        drawstyle="steps-post",
        **style,
    )
