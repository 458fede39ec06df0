"""The figures of the classics, each drawn from a run of its scenario into ``docs/images/classics``.

``python docs/made/classics.py`` draws all again. Values over time are means over the steps of a figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import anabranch as ab
from anabranch.figures.save import save
from anabranch.figures.style import COLOURS, GRID, INK, SOFT_INK
from anabranch.runs.result import Result

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios" / "classics"
IMAGES = ROOT / "docs" / "images" / "classics"


@dataclass(frozen=True)
class Drawn:
    """What a figure shows: a column of a series by name, over steps of time."""

    column: str
    step_s: float
    names: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    """Where thin lines lie: the values that the text speaks of."""
    has_mean: bool = False
    """Whether a thick line is the mean of all."""

    @property
    def of(self) -> str:
        """The series that has the column."""
        return "connections" if self.column == "delivered_bps" else "subflows"

    @property
    def unit(self) -> tuple[str, float]:
        """The name of the axis, and the factor from the column to it."""
        return {
            "delivered_bps": ("rate (Mbit/s)", 1e-6),
            "window_bytes": ("window (packets)", 1e-3),
            "rtt_s": ("round trip (ms)", 1e3),
        }[self.column]


FIGURES = {
    "dumbbell": Drawn("delivered_bps", 1.0, levels=(4, 6, 12)),
    "parking-lot": Drawn("delivered_bps", 1.2, levels=(2.5, 5, 7.5)),
    "round-trips": Drawn("delivered_bps", 2.4, levels=(10,)),
    "bufferbloat": Drawn("rtt_s", 0.4, ("bloated-call/1", "codel-call/1", "fair-call/1", "marking-call/1")),
    "sawtooth": Drawn("window_bytes", 0.12, levels=(50,)),
    "square-root-law": Drawn("delivered_bps", 5.0, levels=(12.2, 6.1, 3.06)),
    "resource-pooling": Drawn("delivered_bps", 1.5, ("both", "red-1", "pooled", "rose-1", "sky-1"), (6,)),
    "max-min-and-proportional": Drawn("delivered_bps", 0.8, levels=(4, 6, 8)),
    "path-that-dies": Drawn("delivered_bps", 0.5, levels=(8,)),
    "braess": Drawn("delivered_bps", 2.0, levels=(5,), has_mean=True),
    "explicit-rates": Drawn("delivered_bps", 0.2, levels=(4, 6, 12)),
    "cellular": Drawn("rtt_s", 0.25),
}


def draw_over_time(axes: Axes, result: Result, drawn: Drawn) -> None:
    """Draw values over time, a line for each connection or subflow."""
    key = drawn.of[:-1]
    name_of_axis, scale = drawn.unit
    step = ((pl.col("time_s") / drawn.step_s).ceil() * drawn.step_s - drawn.step_s / 2).round(4).alias("step")
    series = result.series[drawn.of].with_columns(step)
    mean = (pl.col(drawn.column).mean() * scale).round(3).alias("value")
    names = drawn.names or tuple(series[key].unique(maintain_order=True))
    for name, colour in zip(names, cycle(COLOURS), strict=False):
        own = series.filter(pl.col(key) == name).group_by("step", maintain_order=True).agg(mean)
        axes.plot(own["step"], own["value"], color=colour, linewidth=1.3, label=name.removesuffix("/1"))
    if drawn.has_mean:
        own = series.group_by("step", maintain_order=True).agg(mean)
        axes.plot(own["step"], own["value"], color=INK, linewidth=3, label="mean")
    for level in drawn.levels:
        axes.axhline(level, color=SOFT_INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
    axes.set_xlim(0, result.meta["duration_s"])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)", color=SOFT_INK)
    axes.set_ylabel(name_of_axis, color=SOFT_INK)
    axes.grid(axis="y", color=GRID)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def draw_completions(axes: Axes, result: Result) -> None:
    """Draw how long each answer took, on an axis of powers of ten."""
    own = result.connections.sort("completion_s")
    axes.barh(own["connection"], (own["completion_s"] * 1e3).round(3), color=COLOURS[0], height=0.7)
    axes.set_xscale("log")
    axes.set_xlim(0.5, 500)
    axes.set_xlabel("time until the whole answer is there (ms)", color=SOFT_INK)
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)


def draw(name: str, folder: Path) -> None:
    """Run a classic and draw its figure into a folder."""
    result = ab.run(SCENARIOS / f"{name}.toml")
    figure = Figure(figsize=(6.4, 2.7), layout="constrained")
    axes = figure.add_subplot()
    if name in FIGURES:
        draw_over_time(axes, result, FIGURES[name])
    else:
        draw_completions(axes, result)
    axes.tick_params(colors=INK, length=0, which="both")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    # Letters stay letters, so that a figure is small.
    with mpl.rc_context({"svg.fonttype": "none"}):
        save(figure, folder / f"{name}.svg")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for file in sorted(SCENARIOS.glob("*.toml")):
        draw(file.stem, IMAGES)
