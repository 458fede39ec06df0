"""One number for each link: as bars, links below each other, or as lines over time."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from anabranch.errors import ScenarioError
from anabranch.figures.panels import (
    MOST_LINES,
    check_known,
    draw_legend,
    draw_panels,
    draw_words,
    room_above,
    shortened,
    size_in,
)
from anabranch.figures.paper import scaled, size_on_paper
from anabranch.figures.protocol_styles import looks_of
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import COLOURS, GRID, INK, SOFT_INK

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from anabranch.runs.result import Result

MOST_BARS = 16
"""The most links that are drawn as bars: those with the greatest numbers."""

OVER = ("links", "time")
"""Horizontal axes of figures of links."""

COUNTS = (*range(0, 11, 2), *(step * 10**power for power in range(1, 10) for step in (2, 5, 10)))
"""Ticks of an axis of counts."""

LINEAR = 10.0
"""So far up an axis of counts is linear, beyond logarithmic."""


def check_over(over: str, window_s: tuple[float, float] | None) -> None:
    """Check the axis that numbers are drawn over, and that a part of the time is chosen only where there is time.

    Raises
    ------
    ValueError
        Neither links nor time; part of the time of bars.
    """
    if over not in OVER:
        raise ValueError(f'over is "{over}"; it must be one of {", ".join(OVER)}')
    if over == "links" and window_s is not None:
        raise ValueError('bars are of the whole run; leave out window_s, or draw over "time"')


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
    links: Sequence[str] | None,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a group of bars for each link, a bar for each result, its number behind it: `whole` or not."""
    if file is not None:
        check_suffix(file)
    check_known(results, links or (), "link")
    links, note = greatest(results, value, MOST_BARS) if links is None else (links, "")
    thickness = 0.8 / len(results)
    plot_in = 0.16 + max(len(links), 1) * max(0.26, 0.17 * len(results))
    below_in = 0.55 + (0.26 * -(-len(results) // 2) if len(results) > 1 else 0.0) + (0.22 if note else 0.0)
    width, _ = size_on_paper(8.6, 1.0)
    height = room_above(title) + scaled(plot_in + below_in)
    figure = Figure(figsize=(width, height), facecolor="white")
    looks = looks_of(results)
    with any_glyph():
        axes = figure.subplots()
        for number, (name, result) in enumerate(results.items()):
            table = dict(result.links.select("link", value.alias("value")).iter_rows())
            numbers = np.array([table.get(link) or 0.0 for link in links])
            at = np.arange(len(links)) + (number - (len(results) - 1) / 2.0) * thickness
            bars = axes.barh(at, numbers, 0.92 * thickness, label=name, **looks[name].fill)
            words = [f"{n:.0f}" if whole else f"{n:.1f}" for n in numbers]
            axes.bar_label(bars, words, padding=scaled(3), size=scaled(7.5), color=SOFT_INK)
        axes.set_yticks(
            np.arange(len(links)),
            labels=[shortened(link) for link in links],
            size=scaled(8.5),
            color=INK,
            parse_math=False,
        )
        axes.set_ylim(len(links) - 0.45, -0.55)
        axes.set_xlabel(xlabel, color=INK)
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=whole, steps=[1, 2, 5, 10]))
        axes.margins(x=0.09)
        axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        below_in = scaled(0.55) + draw_words(figure, title, note)
        if len(results) > 1:
            handles, labels = axes.get_legend_handles_labels()
            lines = dict(zip(labels, handles, strict=True))
            below_in += draw_legend(figure, lines, left_in=scaled(0.12), bottom_in=below_in - scaled(0.51))
        name_in = scaled(0.25) + max((size_in(label)[0] for label in axes.get_yticklabels()), default=0.0)
        top = 1.0 - (room_above(title) - scaled(0.05)) / height
        right = 1.0 - scaled(0.25) / width
        figure.subplots_adjust(left=name_in / width, right=right, top=top, bottom=below_in / height)
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
    counts: bool = False,
    file: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a line over time for each link, a panel for each result; `rank` says which links, if they are not given.

    With `counts` the axis is logarithmic beyond 10, if there is anything: so few are seen beside many.
    """
    check_known(results, links or (), "link")
    names, note = greatest(results, rank, MOST_LINES) if links is None else (list(links), "")
    if len(names) > MOST_LINES:
        note = f"{len(names)} links; colours repeat"
    frames = {own: _over_time(result, names, value) for own, result in results.items()}
    is_bent = counts and any((frame["value"] > LINEAR).any() for frame in frames.values())
    if is_bent:
        note = "; ".join(part for part in (f"the axis is linear up to {LINEAR:g} and logarithmic beyond", note) if part)

    def draw(panel: Axes, own: str) -> None:
        for name, colour in zip(names, cycle(COLOURS), strict=False):
            line = frames[own].filter(pl.col("link") == name)
            panel.plot(line["time_s"], line["value"], color=colour, linewidth=scaled(1.2), label=name)
        if mark is not None:
            panel.axhline(mark, color=INK, linewidth=0.9, linestyle=(0, (5, 4)))
        if is_bent:
            panel.set_yscale("symlog", linthresh=LINEAR, linscale=1.0)
            panel.yaxis.set_major_locator(FixedLocator(COUNTS))
            panel.yaxis.set_minor_locator(FixedLocator([]))
            panel.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))

    return draw_panels(results, draw, title=title, ylabel=ylabel, note=note, window_s=window_s, file=file)


def _over_time(result: Result, names: Sequence[str], value: pl.Expr) -> pl.DataFrame:
    """Give a value of each link and sample.

    It may be one of ``nominal_bps``, the capacity of the scenario, and ``could_bps``, that since the sample before:
    where it changed in between, the greater of both, since when it did is not known.
    """
    if not result.series.has("links", "carried_bps"):
        if names:
            raise ScenarioError('links were not recorded; add "links" to record under [run]')
        return pl.DataFrame(schema={"link": pl.String, "time_s": pl.Float64, "value": pl.Float64})
    rows = result.series["links"].filter(pl.col("link").is_in(names))
    nominal = result.links.select("link", pl.col("capacity_bps").alias("nominal_bps"))
    rows = rows.join(nominal, on="link", how="left", maintain_order="left")
    now = pl.coalesce("capacity_bps", "nominal_bps") if "capacity_bps" in rows else pl.col("nominal_bps")
    before = now.shift(1).over("link").fill_null(pl.col("nominal_bps"))
    rows = rows.with_columns(pl.max_horizontal(now, before).alias("could_bps"))
    return rows.select("link", "time_s", value.alias("value"))
