"""One number for each link: as bars, links below each other, or as lines over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anabranch.errors import ScenarioError
from anabranch.figures.panels import MOST_LINES, draw_legend, draw_panels, draw_words
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK, SOFT_INK

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from anabranch.result import Result

MOST_BARS = 16
"""So many links are drawn as bars, those with the greatest numbers."""


def greatest(results: Mapping[str, Result], value: pl.Expr, count: int) -> tuple[list[str], str]:
    """Give the links with the greatest values in any result, greatest first, and a note if that is not all of them."""
    frames = [result.links.select("link", value.alias("value")) for result in results.values()]
    ranked = pl.concat(frames).group_by("link", maintain_order=True).agg(pl.col("value").max())
    ranked = ranked.filter(pl.col("value") > 0).sort("value", descending=True, maintain_order=True)
    note = f"the greatest {count} of {len(ranked)} links in use" if len(ranked) > count else ""
    return ranked["link"].head(count).to_list(), note


def draw_bars(
    results: Mapping[str, Result],
    value: pl.Expr,
    *,
    title: str,
    xlabel: str,
    whole: bool,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a group of bars for each link, a bar for each result, its number behind it: `whole` or not."""
    if file is not None:
        check_suffix(file)
    links, note = greatest(results, value, MOST_BARS)
    thickness = 0.8 / len(results)
    plot_in = 0.16 + len(links) * max(0.26, 0.17 * len(results))
    below_in = 0.55 + (0.3 if len(results) > 1 else 0.0) + (0.22 if note else 0.0)
    figure = Figure(figsize=(8.6, 0.55 + plot_in + below_in), facecolor="white")
    width, height = figure.get_size_inches()
    with any_glyph():
        axes = figure.subplots()
        for number, (name, result) in enumerate(results.items()):
            table = dict(result.links.select("link", value.alias("value")).iter_rows())
            numbers = np.array([table.get(link) or 0.0 for link in links])
            at = np.arange(len(links)) + (number - (len(results) - 1) / 2.0) * thickness
            bars = axes.barh(at, numbers, 0.92 * thickness, color=COLOURS[number % len(COLOURS)], label=name)
            axes.bar_label(
                bars, [f"{n:.0f}" if whole else f"{n:.1f}" for n in numbers], padding=3, size=7.5, color=SOFT_INK
            )
        axes.set_yticks(np.arange(len(links)), labels=links, size=8.5, color=INK, parse_math=False)
        axes.set_ylim(len(links) - 0.45, -0.55)
        axes.set_xlabel(xlabel, color=INK)
        axes.xaxis.set_major_locator(MaxNLocator(integer=whole))
        axes.margins(x=0.09)
        axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        draw_words(figure, title, note)
        if len(results) > 1:
            handles, labels = axes.get_legend_handles_labels()
            lines = dict(zip(labels, handles, strict=True))
            draw_legend(figure, lines, 4, left_in=0.12, bottom_in=0.26 if note else 0.04)
        name_in = min(3.0, 0.35 + 0.075 * max((len(link) for link in links), default=0))
        figure.subplots_adjust(
            left=name_in / width, right=1.0 - 0.25 / width, top=1.0 - 0.5 / height, bottom=below_in / height
        )
    if file is not None:
        save(figure, file)
    return figure


def draw_lines(
    results: Mapping[str, Result],
    rank: pl.Expr,
    value: pl.Expr,
    *,
    title: str,
    ylabel: str,
    links: Sequence[str] | None,
    window_s: tuple[float, float] | None,
    mark: float | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a line over time for each link, a panel for each result; `rank` says which links, if they are not given."""
    known = next(iter(results.values())).links["link"].to_list()
    unknown = next((link for link in links or () if link not in known), None)
    if unknown is not None:
        raise ScenarioError(f"there is no link `{unknown}` in the result; name one of its {len(known)}")
    names, note = greatest(results, rank, MOST_LINES) if links is None else (list(links), "")

    def draw(panel: Axes, own: str) -> None:
        result = results[own]
        capacity = result.links.select(pl.col("link").alias("name"), "capacity_bps")
        rows = result.series.filter((pl.col("of") == "link") & pl.col("name").is_in(names))
        if not rows["carried_bps"].count():
            raise ScenarioError('links were not recorded; add "links" to record under [run]')
        rows = rows.join(capacity, on="name", how="left", maintain_order="left")
        rows = rows.select("name", "time_s", value.alias("value"))
        for name, colour in zip(names, COLOURS, strict=False):
            line = rows.filter(pl.col("name") == name)
            panel.plot(line["time_s"], line["value"], color=colour, linewidth=1.2, label=name)
        if mark is not None:
            panel.axhline(mark, color=INK, linewidth=0.9, linestyle=(0, (5, 4)))

    return draw_panels(results, draw, title=title, ylabel=ylabel, note=note, window_s=window_s, file=file)
