"""Means along an axis, with their intervals as bands: what changes with a delay, a load, a number of connections.

Bands of several lines would cover each other, so more than two lines have bars instead. Where words stand along the
axis there is nothing between them, and so no line: points with bars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.figures.grid import DASHES, draw_grid, line_styles
from anabranch.figures.paper import scaled

if TYPE_CHECKING:
    import os
    from collections.abc import Collection
    from typing import Literal

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 40
"""The most points of a line with markers."""

APART = 0.08
"""The distance of lines beside each other at a name, relative to the distance of names."""

FEW_PLACES = 8
"""The most numbers that are written along a logarithmic axis."""

LETTERS = 40
"""The most letters, of all names together, that fit below a panel; longer names are written vertically."""

LONGEST = 24
"""Letters of one; the middle of longer ones is left out."""

FROM_ZERO = 0.5
"""An axis begins at 0 if the least number is below this part of the greatest."""

HALF = dict(zip(DASHES[1:], ("left", "top"), strict=True))
"""How points are filled by the dashes that their lines would have."""

NUMBERS = ("mean", "low", "high")

MOST_BANDS = 2
"""More lines in a panel than this have bars, unless they have too many points for them."""

ALPHA, PALE_ALPHA = 0.16, 0.08
"""How opaque a band is, and one of many."""


def are_crowded(bands: pl.DataFrame) -> bool:
    """Tell whether lines have bars instead of bands: some panel has too many lines for these."""
    panels = bands.group_by("panel").agg(pl.col("name").n_unique().alias("lines"))
    longest = bands.group_by("panel", "name").len()["len"].max()
    return int(panels["lines"].max() or 0) > MOST_BANDS and int(longest or 0) <= FEW  # type: ignore[arg-type]


def draw_bands(
    bands: pl.DataFrame,
    *,
    xlabel: str,
    ylabel: str,
    log: Collection[Literal["x", "y"]] = (),
    title: str,
    note: str = "",
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a line for each name through means, with a band from the lower end of their intervals to the upper.

    Along an axis of text they are points, with a bar each. So are lines, if more than two are in a panel.

    Parameters
    ----------
    bands : DataFrame
        A row for each point: ``panel``; ``name``; ``x``, numbers, or text that stands along the axis in the order in
        which it first appears; ``mean``; ``low`` and ``high``, null where there is no interval.
    xlabel, ylabel : str
    log : collection of {"x", "y"}
        Axes that are logarithmic. What is not over 0 there is not drawn, and a band that reaches there ends at the
        edge.
    title, note : str
        Above and below.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = bands["name"].unique(maintain_order=True).to_list()
    styles = line_styles(names)
    points, words = _placed(bands)
    points, note = _drawable(points, log, note)
    places = points["at"].unique().sort().to_list()
    is_pale = len(names) > MOST_BANDS
    alpha = 0.0 if are_crowded(bands) else PALE_ALPHA if is_pale else ALPHA
    bottom = 0.0 if "y" not in log and _is_near_zero(points) else None

    def draw(panel: Axes, own: str) -> None:
        for place, name in enumerate(names):
            line = points.filter(panel=own, name=name).sort("at")
            beside = (place - (len(names) - 1) / 2.0) * min(APART, 0.5 / len(names)) if words else 0.0
            _draw_line(
                panel, line.with_columns(pl.col("at") + beside), name, styles[name], is_joined=not words, alpha=alpha
            )
        if words:
            _write_words(panel, words)

    panels = bands["panel"].unique(maintain_order=True).to_list()
    return draw_grid(
        panels,
        draw,
        xlabel=xlabel,
        ylabel=ylabel,
        log=log,
        title=title,
        note=note,
        bottom=bottom,
        xticks=places if len(places) <= FEW_PLACES and all(map(_is_round, places)) else (),
        file=file,
    )


def _placed(bands: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Add where along the axis each point is, ``at``; and give the words there, if these are no numbers."""
    if bands["x"].dtype.is_numeric():
        return bands.with_columns(pl.col("x").cast(pl.Float64).alias("at")), []
    words = bands["x"].cast(pl.String).unique(maintain_order=True)
    places = pl.DataFrame({"x": words, "at": np.arange(len(words), dtype=float)})
    return bands.with_columns(pl.col("x").cast(pl.String)).join(places, on="x", nulls_equal=True), words.to_list()


def _drawable(points: pl.DataFrame, log: Collection[Literal["x", "y"]], note: str) -> tuple[pl.DataFrame, str]:
    """Leave out what logarithmic axes do not have, and say so in the note."""
    axes = {"x": pl.col("at"), "y": pl.col("mean")}
    kept = points.filter(pl.all_horizontal([pl.lit(value=True), *(axes[axis] > 0.0 for axis in log)]))
    if "y" in log and len(kept):
        numbers = kept.select(NUMBERS).to_numpy()
        least = 0.8 * float(numbers[numbers > 0.0].min())
        kept = kept.with_columns(pl.col("low", "high").clip(lower_bound=least))
    left_out = len(points) - len(kept)
    return kept, f"{note}; {left_out} points at or below 0 are not drawn" if left_out else note


def _is_round(number: float) -> bool:
    """Tell whether a number has two digits at most, so that it can stand at an axis."""
    return bool(np.isclose(number, float(f"{number:.2g}"), rtol=1e-9))


def _is_near_zero(points: pl.DataFrame) -> bool:
    """Tell whether an axis may begin at 0 and leave enough of it to what is there."""
    least = points.select(pl.min_horizontal(pl.col(NUMBERS).min())).item()
    most = points.select(pl.max_horizontal(pl.col(NUMBERS).max())).item()
    return least is not None and 0.0 <= least < FROM_ZERO * most


def _draw_line(
    panel: Axes, line: pl.DataFrame, name: str, style: dict[str, Any], *, is_joined: bool, alpha: float
) -> None:
    at, mean, low, high = (line[column].cast(pl.Float64).to_numpy() for column in ("at", *NUMBERS))
    colour = style["color"]
    has_markers = len(line) <= FEW or not is_joined
    if is_joined and alpha > 0.0:
        panel.fill_between(at, low, high, color=colour, alpha=alpha, linewidth=0.0)
    if has_markers:
        ends = (np.maximum(mean - low, 0.0), np.maximum(high - mean, 0.0))
        panel.errorbar(
            at, mean, ends, fmt="none", ecolor=colour, elinewidth=scaled(0.9), capsize=scaled(2.0), alpha=0.8
        )
    own = style if is_joined else _alone(style)
    panel.plot(at, mean, label=name, linewidth=scaled(1.5), **(own if has_markers else own | {"marker": ""}))


def _alone(style: dict[str, Any]) -> dict[str, Any]:
    """Give the style of points that no line joins; those whose lines would be dashed are half full."""
    fill = style["fillstyle"] if style["linestyle"] == DASHES[0] else HALF[style["linestyle"]]
    return style | {"linestyle": "none", "fillstyle": fill}


def _write_words(panel: Axes, words: list[str]) -> None:
    is_long = sum(map(len, words)) > LETTERS
    labels = [word if len(word) <= LONGEST else f"{word[: LONGEST // 2]}…{word[1 - LONGEST // 2 :]}" for word in words]
    panel.set_xticks(np.arange(len(words)), labels=labels, rotation=90 if is_long else 0, parse_math=False)
    panel.set_xlim(-0.5, len(words) - 0.5)
